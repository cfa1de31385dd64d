//! `tidemark local`: from an export to fresh figures.

use rustix::process::Signal;
use serde_json::Value;
use tidemark_testkit::TestDatabase;
use tidemark_tests::{until, until_true};

use crate::folder::{EXPORTS, Folder, data, golden};

const HEVY: &str = "hevy_MIT_kg_rpe_settypes_7211.csv";

/// The summary of the user whose file is `name`.
fn user<'a>(document: &'a Value, name: &str) -> &'a Value {
    let users = document["users"].as_array().unwrap();
    users.iter().find(|user| user["file"].as_str().unwrap().ends_with(name)).unwrap()
}

/// The figures are those of golden.json: fresh, as logged, whatever the refreshes before.
fn check_golden(document: &Value, name: &str) {
    let (user, golden) = (user(document, name), golden(name));
    for (figure, reference) in [
        ("workouts", "sessions"),
        ("sets", "set_rows"),
        ("exercises", "exercises"),
        ("training_days", "training_days"),
        ("total_volume", "volume_all"),
        ("working_volume", "volume_without_warmup"),
    ] {
        let (figure_value, reference_value) = (user[figure].as_f64().unwrap(), golden[reference].as_f64().unwrap());
        assert!(
            (figure_value - reference_value).abs() < 0.001,
            "{name}: {figure} {figure_value}, {reference_value} expected"
        );
    }
    assert_eq!(user["stale"], false);
}

#[tokio::test]
async fn a_newcomers_first_command_ends_with_the_figures_of_the_export() {
    let folder = Folder::new().await;
    let arguments = ["local", "--import", &data(HEVY), "--until-fresh", "--fresh", "--port", "0", "--json"];
    let ran = folder.run(&arguments).await;
    let document = ran.document();
    assert_eq!(document["users"].as_array().unwrap().len(), 1);
    let user = user(&document, HEVY);
    assert_eq!((&user["workouts"], &user["sets"]), (&335.into(), &7211.into()));
    assert_eq!(user["working_volume"].as_f64(), Some(1_964_741.75));
    assert_eq!(user["total_volume"].as_f64(), Some(2_304_917.0));
    assert!((1..=3).contains(&user["refreshes"].as_i64().unwrap()), "{user}");
    assert!(document["seconds"].is_number());
    check_golden(&document, HEVY);
    assert!(!folder.has_server(), "the server lives as long as the command");
}

#[tokio::test]
async fn four_exports_are_four_users_and_a_second_run_adds_nothing() {
    let folder = Folder::new().await;
    let files = EXPORTS.map(data);
    let mut arguments = vec!["local", "--until-fresh", "--port", "0", "--json"];
    arguments.extend(files.iter().flat_map(|file| ["--import", file]));
    let first = folder.run(&arguments).await.document();
    let second = folder.run(&arguments).await;
    assert!(second.stderr.contains(" 0 of "), "{second:?}");
    let second = second.document();
    assert_eq!(first["users"].as_array().unwrap().len(), EXPORTS.len());
    for name in EXPORTS {
        check_golden(&first, name);
        assert_eq!(user(&first, name), user(&second, name), "nothing was added, nothing was refreshed");
    }
}

#[tokio::test]
async fn two_files_of_one_user_are_one_summary_that_names_both() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let url = database.url_for("postgres");
    let names = ["strong_MIT_2078.csv", "strong_MIT_no_notes_warmups_666.csv"];
    let files = names.map(data);
    let imports = files.each_ref().map(|file| format!("{file}=7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f"));
    let mut arguments = vec!["local", "--until-fresh", "--port", "0", "--database-url", &url];
    // A file that is given twice is named once.
    arguments.extend([&imports[0], &imports[1], &imports[0]].into_iter().flat_map(|import| ["--import", import]));
    let document = folder.run(&[&arguments[..], &["--json"]].concat()).await.document();
    assert_eq!(document["users"].as_array().unwrap().len(), 1, "{document}");
    assert_eq!(document["users"][0]["file"], files.join(", "));
    let screen = folder.run(&arguments).await;
    assert!(screen.stdout.contains(&names.join(", ")), "{screen:?}");
    assert!(!screen.stdout.contains(&files[0]), "without its folder: {screen:?}");
}

#[tokio::test]
async fn a_killed_local_leaves_no_server_and_the_next_run_has_the_figures() {
    let folder = Folder::new().await;
    let arguments = ["local", "--import", &data(HEVY), "--until-fresh", "--port", "0", "--json"];
    let running = folder.start(&arguments);
    let database = folder.database().await;
    // The import is committed or not, the refresh is on its way or not: wherever the kill falls, nothing is lost. Here it
    // falls between the two.
    let imported = "SELECT CASE WHEN to_regclass('public.user_stats_projection_state') IS NULL THEN false
                    ELSE (xpath('/row/stale/text()', query_to_xml(
                        'SELECT count(*) > 0 AS stale FROM public.user_stats_projection_state', false, true, '')))[1]::text = 'true'
                    END";
    until_true(&database, imported, &[]).await;
    running.signal(Signal::KILL);
    assert_eq!(running.ended().await.code, None);
    until("the killed command's server is gone", async || !folder.has_server()).await;
    let document = folder.run(&arguments).await.document();
    check_golden(&document, HEVY);
}

#[tokio::test]
async fn an_interrupt_ends_local_and_its_server_in_order() {
    let folder = Folder::new().await;
    let mut running = folder.start(&["local", "--port", "0"]);
    running.until_says("ticking every second").await;
    running.signal(Signal::INT);
    let ran = running.ended().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!folder.has_server());
    // In order: the next start has nothing to recover.
    let mut running = folder.start(&["local", "--port", "0"]);
    running.until_says("ticking every second").await;
    running.signal(Signal::INT);
    assert_eq!(running.ended().await.code, Some(0));
}

#[tokio::test]
async fn a_service_manager_and_a_terminal_that_closes_end_local_in_order_too() {
    for signal in [Signal::TERM, Signal::HUP] {
        let folder = Folder::new().await;
        let mut running = folder.start(&["local", "--port", "0"]);
        running.until_says("ticking every second").await;
        running.signal(signal);
        let ran = running.ended().await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!folder.has_server());
    }
}

#[tokio::test]
async fn work_that_a_killed_local_left_is_taken_up_at_once_by_the_next() {
    let folder = Folder::new().await;
    let file = data("strong_MIT_no_notes_warmups_666.csv");
    let mut running = folder.start(&["local", "--port", "0"]);
    running.until_says("ticking every second").await;
    let database = folder.database().await;
    // Nobody computes: the claimed run keeps its lease of five minutes.
    let pause = "UPDATE public.stats_projection_worker_settings SET compute_enabled = false";
    database.batch_execute(pause).await.unwrap();
    let user = "7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f";
    folder.run(&["import", &file, "--user", user, "--json"]).await.document();
    let computing = "UPDATE public.user_stats_projection_runs SET phase = 'computing' WHERE phase = 'claimed'";
    until("a run is claimed", async || database.execute(computing, &[]).await.unwrap() == 1).await;
    database.batch_execute("UPDATE public.stats_projection_worker_settings SET compute_enabled = true").await.unwrap();
    running.signal(Signal::KILL);
    running.ended().await;
    until("the killed command's server is gone", async || !folder.has_server()).await;
    let ran = folder.run(&["local", "--until-fresh", "--timeout", "60", "--port", "0", "--json"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[tokio::test]
async fn two_folders_have_two_systems_and_one_folder_has_one() {
    let (one, other) = (Folder::new().await, Folder::new().await);
    let mut first = one.start(&["local", "--port", "0"]);
    let mut second = other.start(&["local", "--port", "0"]);
    first.until_says("ticking every second").await;
    second.until_says("ticking every second").await;
    // Commands in the folder find the system that runs there.
    let file = data("strong_MIT_no_notes_warmups_666.csv");
    let user = "7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f";
    let account = one.run(&["import", &file, "--user", user, "--json"]).await.document();
    assert_eq!(account["rows"], 666);
    let fresh = "SELECT EXISTS (SELECT FROM public.user_stats_summary)
                 AND NOT EXISTS (SELECT FROM public.user_stats_projection_state WHERE requested_generation > applied_generation)";
    until_true(&one.database().await, fresh, &[]).await;
    let known = "SELECT NOT EXISTS (SELECT FROM public.user_stats_projection_state)";
    assert!(other.database().await.query_one(known, &[]).await.unwrap().get::<_, bool>(0));
    one.run(&["local", "--port", "0"]).await.check_refused(1, &[]);
    first.signal(Signal::INT);
    second.signal(Signal::INT);
    assert_eq!((first.ended().await.code, second.ended().await.code), (Some(0), Some(0)));
}

#[tokio::test]
async fn fresh_wipes_what_was_there() {
    let folder = Folder::new().await;
    let (strong, fitnotes) = (data("strong_MIT_no_notes_warmups_666.csv"), data("fitnotes_MIT_kgs_2495.csv"));
    let common = ["local", "--until-fresh", "--port", "0", "--json", "--import"];
    folder.run(&[&common[..], &[&strong]].concat()).await.document();
    folder.run(&[&common[..], &[&fitnotes, "--fresh"]].concat()).await.document();
    let everybody = folder.run(&common[..5]).await.document();
    assert_eq!(everybody["users"].as_array().unwrap().len(), 1);
}
