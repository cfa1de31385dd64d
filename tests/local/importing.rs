//! `tidemark import`: the account of every row, and the commands around it on a given database.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;
use tidemark_testkit::{TestDatabase, invariants};
use uuid::Uuid;

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

#[tokio::test]
async fn what_is_no_file_is_refused_at_once() {
    let folder = Folder::new().await;
    let pipe = folder.path().join("pipe.csv");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let pipe = pipe.display().to_string();
    let directory = folder.path().display().to_string();
    for (input, words) in [(&pipe, "a pipe or device"), (&directory, "a folder")] {
        folder.run(&["import", input, "--user", USER]).await.check_refused(1, &[words, "nothing was imported"]);
        folder.run(&["local", "--import", input, "--until-fresh"]).await.check_refused(1, &[words]);
    }
}

#[tokio::test]
async fn an_assumed_unit_is_said_and_a_given_one_is_used() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let url = database.url_for("postgres");
    let header = "Date,Workout Name,Duration,Exercise Name,Set Order,Weight,Reps";
    let file = folder.write("strong.csv", &format!("{header}\n2024-03-01 10:00:00,A,1h,Bench,1,100,5\n"));
    let import = ["import", &file, "--user", USER, "--database-url", &url];
    let account = folder.run(&[&import[..], &["--json"]].concat()).await.document();
    assert_eq!(account["assumed_unit"], "kg");
    let again = folder.run(&import).await;
    assert!(again.stdout.contains("taken as kg") && again.stdout.contains("--unit"), "{again:?}");
    let local =
        ["local", "--import", &file, "--unit", "lb", "--zone", "Asia/Seoul", "--until-fresh", "--port", "0", "--json"];
    let ran = folder.run(&[&local[..], &["--database-url", &url]].concat()).await;
    assert!(!ran.stderr.contains("taken as"), "{ran:?}");
    let kilograms = ran.document()["users"][0]["total_volume"].as_f64().unwrap();
    assert!((kilograms - 226.796).abs() < 0.001, "five times a hundred pounds: {kilograms}");
    let empty = folder.write("empty.csv", header);
    let ran = folder.run(&["import", &empty, "--user", USER, "--database-url", &url]).await;
    assert!(ran.code == Some(0) && ran.stdout.contains("no rows; choose a longer period"), "{ran:?}");
    let mars = ["local", "--import", &file, "--zone", "Mars/Olympus", "--until-fresh"];
    folder.run(&mars).await.check_refused(2, &["Mars/Olympus", "Europe/Berlin"]);
}

#[tokio::test]
async fn files_of_one_name_in_two_folders_are_two_users() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let url = database.url_for("postgres");
    let mut users = Vec::new();
    for (person, weight) in [("anna", 100), ("ben", 200)] {
        std::fs::create_dir(folder.path().join(person)).unwrap();
        let content = format!(
            "Date,Workout Name,Duration,Exercise Name,Set Order,Weight,Reps\n2024-03-01 10:00:00,A,1h,Bench,1,{weight},1\n"
        );
        let file = folder.write(&format!("{person}/strong.csv"), &content);
        let local = ["local", "--import", &file, "--until-fresh", "--port", "0", "--json", "--database-url", &url];
        let ran = folder.run(&local).await;
        let document = ran.document();
        assert_eq!(document["users"][0]["total_volume"].as_f64(), Some(f64::from(weight)));
        let id = document["users"][0]["user_id"].as_str().unwrap().to_owned();
        assert!(ran.stderr.contains(&id), "{ran:?}");
        users.push(id);
    }
    assert_ne!(users[0], users[1]);
}

#[tokio::test]
async fn a_rating_and_a_distance_keep_their_decimals() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let url = database.url_for("postgres");
    let header = "title,start_time,exercise_title,set_type,weight_kg,reps,distance_miles,rpe";
    let file = folder.write("hevy.csv", &format!("{header}\nA,\"15 Sep 2025, 07:48\",Run,normal,,,1.2345,8.125\n"));
    folder.run(&["import", &file, "--user", USER, "--json", "--database-url", &url]).await.document();
    let query = "SELECT distance_meters = 1986.7351680, rpe = 8.125 FROM public.workout_sets";
    let row = database.admin().await.query_one(query, &[]).await.unwrap();
    assert_eq!((row.get::<_, bool>(0), row.get::<_, bool>(1)), (true, true));
}

#[tokio::test]
async fn replace_takes_the_files_version_of_what_differs() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let url = database.url_for("postgres");
    let header = "Date,Workout Name,Exercise Name,Set Order,kg,Reps";
    let file =
        |weight: u32| folder.write("strong.csv", &format!("{header}\n2024-03-01 10:00:00,A,Bench,1,{weight},5\n"));
    let import = ["import", &file(100), "--user", USER, "--json", "--database-url", &url];
    assert_eq!(folder.run(&import).await.document()["imported"], 1);
    file(105);
    let kept = folder.run(&import).await.document();
    assert_eq!((&kept["imported"], &kept["different"]), (&0.into(), &1.into()));
    let reason = kept["skipped"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("different now") && reason.contains("--replace"), "{reason}");
    let replaced = folder.run(&[&import[..], &["--replace"]].concat()).await.document();
    assert_eq!((&replaced["imported"], &replaced["different"]), (&1.into(), &0.into()));
    let weight = database.admin().await.query_one("SELECT weight::text FROM public.workout_sets", &[]).await.unwrap();
    assert_eq!(weight.get::<_, &str>(0), "105.000000000");
}

#[tokio::test]
async fn every_look_alike_export_is_imported_by_one_command() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let url = database.url_for("postgres");
    let files: Vec<String> = std::fs::read_dir(data("exports"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .map(|path| path.display().to_string())
        .collect();
    let mut arguments = vec!["local", "--until-fresh", "--port", "0", "--json", "--database-url", &url];
    for file in &files {
        arguments.extend(["--import", file]);
    }
    let document = folder.run(&arguments).await.document();
    let users = document["users"].as_array().unwrap();
    assert_eq!(users.len(), files.len());
    for user in users {
        assert_eq!(user["stale"], false, "{user}");
        assert!(user["sets"].as_i64().unwrap() > 0, "{user}");
    }
}

#[tokio::test]
async fn a_file_may_have_any_name() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let url = database.url_for("postgres");
    let content = "Date,Workout Name,Exercise Name,Set Order,kg,Reps\n2024-03-01 10:00:00,A,Bench,1,100,5\n";
    for name in [&b"a \"quoted\" 'name' = $(x);.csv"[..], b"caf\xe9.csv", "운동 기록.csv".as_bytes(), b"-.csv"] {
        let path = folder.path().join(OsStr::from_bytes(name));
        std::fs::write(&path, content).unwrap();
        let shown = String::from_utf8_lossy(name).into_owned();
        let import = [OsStr::new("import"), path.as_os_str()];
        let user = Uuid::new_v4().to_string();
        let rest = ["--user", &user, "--json", "--database-url", &url].map(OsStr::new);
        let account = folder.run(&[&import[..], &rest].concat()).await.document();
        assert_eq!(account["imported"], 1, "{shown}");
        for user in ["", "=7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f"] {
            let mut file = path.clone().into_os_string();
            file.push(user);
            let local = [OsStr::new("local"), OsStr::new("--import"), &file];
            let rest = ["--until-fresh", "--port", "0", "--json", "--database-url", &url].map(OsStr::new);
            let document = folder.run(&[&local[..], &rest].concat()).await.document();
            assert!(document["users"][0]["file"].as_str().unwrap().ends_with(&shown), "{document}");
        }
    }
}

#[tokio::test]
async fn what_is_no_export_is_named_with_what_to_do_and_nothing_of_its_content() {
    let folder = Folder::new().await;
    let header = "Date,Workout Name,Exercise Name,Set Order,kg,Reps";
    let row = |cells: &[u8]| [header.as_bytes(), b"\n", cells].concat();
    let long = vec![b'7'; 10 * 1024 * 1024];
    for (name, content, words) in [
        ("empty", Vec::new(), "the file is empty"),
        ("workbook", b"PK\x03\x04secret".to_vec(), "a ZIP archive or a spreadsheet"),
        ("backup", b"SQLite format 3\0secret".to_vec(), "a database"),
        ("json", b"{\"secret\":1}".to_vec(), "JSON"),
        ("latin", row(b"2024-03-01 10:00:00,secr\xe9t,B,1,100,5\n"), "line 2: the text is not UTF-8"),
        ("nul", row(b"2024-03-01 10:00:00,secret\0,B,1,100,5\n"), "line 2: the text holds a NUL byte"),
        ("quote", row(b"2024-03-01 10:00:00,\"secret,B,1,100,5\n"), "line 2: a quote opened here"),
        ("date", row(b"secret,A,B,1,100,5\n"), "line 2, column Date"),
        ("reps", row(b"2024-03-01 10:00:00,A,B,1,100,secret\n"), "line 2, column Reps"),
        ("one line", [b"secret".to_vec(), long.clone()].concat(), "is not known"),
        ("one row", row(&long), "line 2: a cell is longer"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let path = path.display().to_string();
        let ran = folder.run(&["import", &path, "--user", USER]).await;
        ran.check_refused(1, &[words, "nothing was imported"]);
        assert!(name == "one line" || !ran.stderr.contains("secr"), "{name}: {ran:?}");
        assert!(ran.stderr.len() < 1500, "{name}: {ran:?}");
    }
}
