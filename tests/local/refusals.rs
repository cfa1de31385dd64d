//! What is refused: an exit status, what happened, what to try next, and nothing half done.

use serde_json::{Value, json};
use tidemark_testkit::TestDatabase;
use tokio_postgres::Client;

use crate::folder::{Folder, data};

const USER: &str = "7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f";
const MALFORMED: &str = "title,start_time,end_time\n\"Legs,2026-01-01,\n";

/// Every row that an import or a change of settings could have left.
async fn everything(client: &Client) -> Value {
    let query = "SELECT jsonb_build_array(
        (SELECT count(*) FROM public.workouts), (SELECT count(*) FROM public.workout_sets),
        (SELECT count(*) FROM public.exercises), (SELECT count(*) FROM public.user_stats_projection_state),
        (SELECT count(*) FROM public.user_exercise_stats_refresh_jobs),
        (SELECT jsonb_agg(to_jsonb(settings)) FROM public.stats_projection_worker_settings AS settings),
        (SELECT count(*) FROM public.stats_projection_worker_settings_history))";
    client.query_one(query, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_malformed_file_is_refused_before_anything_is_started() {
    let folder = Folder::new().await;
    let file = folder.write("broken.csv", MALFORMED);
    let arguments = ["local", "--import", &file, "--until-fresh", "--port", "0", "--json"];
    folder.run(&arguments).await.check_refused(1, &["broken.csv"]);
    let missing = ["local", "--import", "nowhere.csv", "--until-fresh", "--port", "0", "--json"];
    folder.run(&missing).await.check_refused(1, &["nowhere.csv"]);
    std::fs::remove_file(file).unwrap();
    assert!(folder.is_empty(), "no database was made");
}

#[tokio::test]
async fn a_files_name_cannot_steer_the_terminal() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let url = database.url_for("postgres");
    let broken = folder.write("broken\u{1b}[2J.csv", MALFORMED);
    let ran = folder.run(&["import", &broken, "--user", USER, "--database-url", &url]).await;
    ran.check_refused(1, &["broken\u{fffd}[2J.csv"]);
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
    let content = std::fs::read_to_string(data("strong_MIT_no_notes_warmups_666.csv")).unwrap();
    let sound = folder.write("sound\u{1b}[2J.csv", &content);
    let local = ["local", "--import", &sound, "--until-fresh", "--port", "0", "--database-url", &url];
    let ran = folder.run(&local).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for (stream, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        assert!(text.contains("sound\u{fffd}[2J.csv") && !text.contains('\u{1b}'), "{stream}: {ran:?}");
    }
}

#[tokio::test]
async fn an_import_that_is_refused_leaves_nothing() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let admin = database.admin().await;
    let url = database.url_for("postgres");
    let before = everything(&admin).await;
    let file = folder.write("broken.csv", MALFORMED);
    let import = ["import", &file, "--user", USER, "--json", "--database-url", &url];
    folder.run(&import).await.check_refused(1, &["broken.csv", "nothing was imported"]);
    let hevy = data("hevy_MIT_kg_rpe_settypes_7211.csv");
    for zone in ["Mars/Olympus", "", "+25:00", "posixrules'; DROP TABLE public.workouts; --"] {
        let import = ["import", &hevy, "--user", USER, "--zone", zone, "--json", "--database-url", &url];
        folder.run(&import).await.check_refused(2, &["zone", zone, "nothing was imported", "Europe/Berlin"]);
    }
    assert_eq!(everything(&admin).await, before);
}

#[tokio::test]
async fn an_import_that_fails_after_thousands_of_good_rows_leaves_nothing() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let admin = database.admin().await;
    let url = database.url_for("postgres");
    let hevy = std::fs::read_to_string(data("hevy_MIT_kg_rpe_settypes_7211.csv")).unwrap();
    let before = everything(&admin).await;
    let broken = folder.write("broken.csv", &format!("{}\n\"cut,off\n", hevy.trim_end()));
    let import = ["import", &broken, "--user", USER, "--json", "--database-url", &url];
    folder.run(&import).await.check_refused(1, &["broken.csv", "nothing was imported"]);
    assert_eq!(everything(&admin).await, before);

    // The database refuses one of the last workouts, when hundreds are stored.
    let refusing = "CREATE FUNCTION public.refuse_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF (SELECT count(*) FROM public.workouts) > 300 THEN RAISE EXCEPTION 'no more'; END IF; RETURN NULL; END $$;
        CREATE TRIGGER refuse_late AFTER INSERT ON public.workouts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_late()";
    admin.batch_execute(refusing).await.unwrap();
    let whole = data("hevy_MIT_kg_rpe_settypes_7211.csv");
    let import = ["import", &whole, "--user", USER, "--json", "--database-url", &url];
    assert_eq!(folder.run(&import).await.code, Some(1));
    assert_eq!(everything(&admin).await, before);
    admin.batch_execute("DROP TRIGGER refuse_late ON public.workouts").await.unwrap();
    assert_eq!(folder.run(&import).await.code, Some(0), "and nothing stands in the way of another try");
}

#[tokio::test]
async fn a_refused_setting_explains_its_bound_and_leaves_the_row_and_its_history() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let admin = database.admin().await;
    let url = database.url_for("postgres");
    let before = everything(&admin).await;
    for (assignment, words) in [
        ("publish_timeout_ms=8000", "8000"),
        ("lease_seconds=10", "lease"),
        ("lease_seconds=66", "compute"),
        ("max_active=0", "max_active"),
        ("max_attempts=1000000000000", "max_attempts"),
    ] {
        let set = ["settings", "set", assignment, "--note", "a test", "--json", "--database-url", &url];
        let ran = folder.run(&set).await;
        assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
        ran.check_refused(ran.code.unwrap(), &[words]);
    }
    for assignment in ["publish_timeout=5000", "publish_timeout_ms", "publish_timeout_ms=soon", "id=2"] {
        let set = ["settings", "set", assignment, "--note", "a test", "--json", "--database-url", &url];
        folder.run(&set).await.check_refused(2, &[]);
    }
    // One refused value refuses the whole change.
    let set =
        ["settings", "set", "max_active=5", "publish_timeout_ms=8000", "--note", "a test", "--database-url", &url];
    assert_ne!(folder.run(&set).await.code, Some(0));
    let second_row = "INSERT INTO public.stats_projection_worker_settings (id) VALUES (2)";
    let error = admin.execute(second_row, &[]).await.unwrap_err();
    assert_eq!(error.as_db_error().unwrap().constraint(), Some("stats_projection_worker_settings_one_row"));
    assert_eq!(everything(&admin).await, before);
    let set = ["settings", "set", "publish_timeout_ms=7999", "--note", "a test", "--json", "--database-url", &url];
    assert_eq!(folder.run(&set).await.document()["publish_timeout_ms"], json!(7999));
}

#[tokio::test]
async fn wrong_usage_and_a_missing_database_are_told_apart() {
    let folder = Folder::new().await;
    let hevy = data("hevy_MIT_kg_rpe_settypes_7211.csv");
    for command in
        [&["status"][..], &["settings"], &["stats", USER], &["import", &hevy, "--user", USER], &["tick", "claim"]]
    {
        folder.run(command).await.check_refused(1, &["no database", "DATABASE_URL"]);
    }
    let nowhere = "postgres://user:url-canary@127.0.0.1:1/app";
    let ran = folder.run(&["status", "--database-url", nowhere]).await;
    ran.check_refused(1, &["refused"]);
    assert!(!ran.stderr.contains("canary"), "{ran:?}");
    let plain = "postgres://user:url-canary@db.example.test/app?sslmode=disable";
    let ran = folder.run(&["status", "--database-url", plain]).await;
    ran.check_refused(2, &["plain text"]);
    assert!(!ran.stderr.contains("canary"), "{ran:?}");
    let fresh = ["local", "--fresh", "--until-fresh", "--database-url", nowhere];
    folder.run(&fresh).await.check_refused(2, &["--fresh"]);
    let import = format!("{hevy}=nobody");
    folder.run(&["local", "--import", &import, "--until-fresh"]).await.check_refused(2, &["UUID"]);
    for import in [&format!("={USER}"), ""] {
        folder.run(&["local", "--import", import, "--until-fresh"]).await.check_refused(2, &["names no file"]);
    }
    let limited = folder.run(&["local", "--timeout", "5"]).await;
    assert!(limited.code == Some(2) && limited.stderr.contains("--until-fresh"), "{limited:?}");
    for usage in [&["local", "--port", "seventy"][..], &["import", &hevy], &["no-such-command"]] {
        assert_eq!(folder.run(usage).await.code, Some(2), "{usage:?}");
    }
    assert!(folder.is_empty());
}
