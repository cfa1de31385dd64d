//! `tidemark import`: the account of every row, and the commands around it on a given database.

use serde_json::Value;
use tidemark_testkit::{TestDatabase, invariants};

use crate::folder::{EXPORTS, Folder, data, golden};

const USER: &str = "7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f";

#[tokio::test]
async fn an_account_adds_up_for_every_export_and_again_when_it_is_repeated() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let url = database.url_for("postgres");
    for (number, name) in EXPORTS.into_iter().enumerate() {
        let user = format!("00000000-0000-4000-8000-{number:012}");
        let file = data(name);
        let import = ["import", &file, "--user", &user, "--json", "--database-url", &url];
        let (first, second) = (folder.run(&import).await.document(), folder.run(&import).await.document());
        let golden = golden(name);
        assert_eq!(first["imported"], golden["set_rows"], "{name}");
        assert_eq!(second["imported"], 0, "{name}");
        for account in [&first, &second] {
            let skipped = account["skipped"].as_array().unwrap();
            let imported = account["imported"].as_u64().unwrap();
            assert_eq!(account["rows"].as_u64().unwrap(), imported + skipped.len() as u64, "{name}");
            assert_eq!(account["workouts"], golden["sessions"], "{name}");
            let accounted =
                |row: &Value| row["line"].as_u64().is_some_and(|line| line > 1) && row["reason"].is_string();
            assert!(skipped.iter().all(accounted), "{name}");
        }
    }
    let violations = invariants::violations(&database.admin().await).await;
    assert!(violations.is_empty(), "{violations:?}");
}

#[tokio::test]
async fn single_ticks_bring_an_import_to_its_published_figures() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let url = database.url_for("postgres");
    let on = |arguments: &[&'static str]| [arguments, &["--json"]].concat();
    let file = data("strong_MIT_no_notes_warmups_666.csv");
    folder.run(&["import", &file, "--user", USER, "--zone", "Europe/Berlin", "--database-url", &url]).await;
    for function in ["claim", "compute", "publish"] {
        let arguments = on(&["tick", function, "--database-url"]);
        let summary = folder.run(&[&arguments[..3], &[&url], &arguments[3..]].concat()).await.document();
        assert_eq!((&summary["function"], &summary["succeeded"]), (&function.into(), &1.into()), "{summary}");
    }
    let stats = folder.run(&["stats", USER, "--json", "--database-url", &url]).await;
    assert!(stats.document().is_object());
    let status = folder.run(&["status", "--json", "--database-url", &url]).await.document();
    assert!(status.is_object());
    let requested = folder.run(&["refresh", "request", USER, "--json", "--database-url", &url]).await.document();
    assert_eq!(requested["users"], 1);
    let violations = invariants::violations(&database.admin().await).await;
    assert!(violations.is_empty(), "{violations:?}");
}

#[tokio::test]
async fn a_pause_is_seen_by_the_next_tick_and_ended_by_resume() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let url = database.url_for("postgres");
    let outcome = async |expected: &str| {
        let summary = folder.run(&["tick", "claim", "--json", "--database-url", &url]).await.document();
        assert_eq!(summary["outcome"], expected, "{summary}");
    };
    outcome("idle").await;
    folder.run(&["pause", "claim", "--note", "a test", "--json", "--database-url", &url]).await.document();
    outcome("paused").await;
    folder.run(&["resume", "--json", "--database-url", &url]).await.document();
    outcome("idle").await;
}
