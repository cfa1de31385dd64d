//! `tidemark local --until-fresh` where freshness does not come: it says why, and what to do brings it.

use rustix::process::Signal;
use tidemark_testkit::{TestDatabase, invariants};
use tidemark_tests::until_true;
use tokio_postgres::Client;

use crate::folder::{Folder, data};

const STALE: &str =
    "SELECT EXISTS (SELECT FROM public.user_stats_projection_state WHERE requested_generation > applied_generation)";

async fn set(admin: &Client, assignments: &str) {
    let statement = format!("UPDATE public.stats_projection_worker_settings SET {assignments}");
    admin.batch_execute(&statement).await.unwrap();
}

#[tokio::test]
async fn a_timeout_and_an_interrupt_before_everybody_is_fresh_are_failures_that_lose_nothing() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let (admin, url) = (database.admin().await, database.url_for("postgres"));
    // Every claim is busy while this is held.
    let holder = database.admin().await;
    holder.batch_execute("BEGIN; SELECT FROM tidemark.claim_gate FOR UPDATE").await.unwrap();
    let file = data("strong_MIT_no_notes_warmups_666.csv");
    let arguments = ["local", "--import", &file, "--until-fresh", "--port", "0", "--json", "--database-url", &url];
    let limited = [&arguments[..], &["--timeout", "0"]].concat();
    folder.run(&limited).await.check_refused(1, &["still stale", "tidemark status"]);

    let began: jiff::Timestamp = admin.query_one("SELECT clock_timestamp()", &[]).await.unwrap().get(0);
    let running = folder.start(&arguments);
    // Its ticks come: it has done everything else and waits.
    let ticking = "SELECT coalesce(last_started_at > $1, false) FROM tidemark.ticks WHERE function_name = 'publish'";
    until_true(&admin, ticking, &[&began]).await;
    assert!(admin.query_one(STALE, &[]).await.unwrap().get::<_, bool>(0));
    running.signal(Signal::INT);
    running.ended().await.check_refused(1, &["interrupted", "nothing is lost"]);

    holder.batch_execute("ROLLBACK").await.unwrap();
    let document = folder.run(&arguments).await.document();
    assert_eq!(document["users"][0]["stale"], false);
    assert!(invariants::violations(&admin).await.is_empty());
}

#[tokio::test]
async fn a_paused_function_that_somebody_needs_ends_the_wait_at_once_and_says_since_when_by_whom_and_why() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let (admin, url) = (database.admin().await, database.url_for("postgres"));
    let on = ["--json", "--database-url", &url];
    let wait = ["local", "--until-fresh", "--port", "0", "--json", "--database-url", &url];
    for (number, name) in ["claim", "compute", "publish"].into_iter().enumerate() {
        let (file, user) =
            (data("strong_MIT_no_notes_warmups_666.csv"), format!("00000000-0000-4000-8000-{number:012}"));
        folder.run(&[&["import", &file, "--user", &user][..], &on].concat()).await.document();
        let note = format!("maintenance of {name}");
        folder.run(&[&["pause", name, "--note", &note][..], &on].concat()).await.document();
        // A later change leaves since when, by whom and why as they were.
        folder.run(&[&["settings", "set", "max_active=3", "--note", "more"][..], &on].concat()).await.document();
        let paused = format!("one user cannot become fresh: {name} is paused since 20");
        let resume = format!("`tidemark resume {name}`");
        let ran = folder.run(&wait).await;
        ran.check_refused(1, &[&paused, " by postgres", &note, &resume]);
        folder.run(&[&["resume", name][..], &on].concat()).await.document();
        assert_eq!(folder.run(&wait).await.document()["users"][number]["stale"], false);
    }
    assert!(invariants::violations(&admin).await.is_empty());
}

#[tokio::test]
async fn a_paused_function_that_nobody_needs_any_more_is_not_waited_for() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let (admin, url) = (database.admin().await, database.url_for("postgres"));
    let on = ["--json", "--database-url", &url];
    let (file, user) = (data("strong_MIT_no_notes_warmups_666.csv"), "7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f");
    folder.run(&[&["import", &file, "--user", user][..], &on].concat()).await.document();
    folder.run(&[&["tick", "claim"][..], &on].concat()).await.document();
    folder.run(&[&["pause", "claim", "work"][..], &on].concat()).await.document();
    let wait = ["local", "--until-fresh", "--port", "0", "--json", "--database-url", &url];
    assert_eq!(folder.run(&wait).await.document()["users"][0]["stale"], false);
    // The lease of a dead worker is recovered by claim.
    admin
        .query_one(
            "SELECT public.request_stats_refresh(array_agg(user_id)) FROM public.user_stats_projection_state",
            &[],
        )
        .await
        .unwrap();
    folder.run(&[&["resume"][..], &on].concat()).await.document();
    folder.run(&[&["tick", "claim"][..], &on].concat()).await.document();
    let expire = "UPDATE public.user_stats_projection_runs SET lease_expires_at = now() WHERE phase = 'claimed'";
    assert_eq!(admin.execute(expire, &[]).await.unwrap(), 1);
    folder.run(&[&["pause", "claim"][..], &on].concat()).await.document();
    folder.run(&wait).await.check_refused(1, &["claim is paused", "`tidemark resume claim`"]);
    assert!(invariants::violations(&admin).await.is_empty());
}

#[tokio::test]
async fn attempts_that_are_used_up_end_the_wait_with_the_code_and_a_resume_brings_the_figures() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let (admin, url) = (database.admin().await, database.url_for("postgres"));
    set(&admin, "max_attempts = 1, compute_timeout_ms = 1000").await;
    let file = data("strong_MIT_no_notes_warmups_666.csv");
    let user = "7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f";
    folder.run(&["import", &file, "--user", user, "--json", "--database-url", &url]).await.document();
    // Every compute runs into its budget while this is held.
    let holder = database.admin().await;
    holder.batch_execute("BEGIN; LOCK TABLE public.workout_sets IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let wait = ["local", "--until-fresh", "--port", "0", "--json", "--database-url", &url];
    folder.run(&wait).await.check_refused(1, &["attempts are used up", "57014", "refresh resume --all-failed"]);
    holder.batch_execute("ROLLBACK").await.unwrap();

    set(&admin, "compute_timeout_ms = 60000").await;
    folder.run(&wait).await.check_refused(1, &["attempts are used up"]);
    let resumed = folder.run(&["refresh", "resume", "--all-failed", "--json", "--database-url", &url]).await.document();
    assert_eq!((&resumed["users"], &resumed["jobs"]), (&1.into(), &1.into()), "{resumed}");
    let document = folder.run(&wait).await.document();
    assert_eq!((&document["users"][0]["user_id"], &document["users"][0]["stale"]), (&user.into(), &false.into()));
    let alerts = "SELECT count(*) = 1 AND bool_and(resolved_at IS NOT NULL) FROM public.alert_outbox";
    assert!(admin.query_one(alerts, &[]).await.unwrap().get::<_, bool>(0), "its alert is resolved");
    assert!(invariants::violations(&admin).await.is_empty());
}
