//! The server that one process keeps.

mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, Instant};

use support::{Holder, connect, folder, holds_within, is_alive, kill_9, postmaster_of};
use tidemark_postgres::{EmbeddedServer, Error, Options, RunningServer};

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_cold_start_gives_a_server_that_a_url_reaches_and_a_warm_one_keeps_its_rows() {
    let root = folder();
    let began = Instant::now();
    let server = EmbeddedServer::start(Options::durable(root.path())).expect("a cold start");
    eprintln!("cold start: {:?}", began.elapsed());
    let client = connect(&server.url("postgres", "postgres")).await;
    client.batch_execute("create table kept (value int); insert into kept values (42)").await.expect("it is ours");
    let row = client.query_one("select getdatabaseencoding(), current_setting('fsync')", &[]).await.expect("answers");
    assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("UTF8", "on"));
    let process = server.process();
    let began = Instant::now();
    server.stop();
    eprintln!("stop: {:?}", began.elapsed());
    assert!(!is_alive(process));

    let began = Instant::now();
    let server = EmbeddedServer::start(Options::durable(root.path())).expect("a warm start");
    let warm = began.elapsed();
    eprintln!("warm start: {warm:?}");
    assert!(warm < Duration::from_secs(1), "{warm:?}");
    let client = connect(&server.url("postgres", "postgres")).await;
    let value: i32 = client.query_one("select value from kept", &[]).await.expect("it was kept").get(0);
    assert_eq!(value, 42);
}

#[tokio::test]
async fn a_fresh_start_wipes_the_rows_of_earlier_ones() {
    let root = folder();
    let server = EmbeddedServer::start(Options::durable(root.path())).expect("it starts");
    let client = connect(&server.url("postgres", "postgres")).await;
    client.batch_execute("create table gone ()").await.expect("it is ours");
    server.stop();
    let server = EmbeddedServer::start(Options { fresh: true, ..Options::durable(root.path()) }).expect("it starts");
    let client = connect(&server.url("postgres", "postgres")).await;
    let tables: i64 =
        client.query_one("select count(*) from pg_tables where tablename = 'gone'", &[]).await.expect("answers").get(0);
    assert_eq!(tables, 0);
}

#[tokio::test]
async fn two_servers_with_roots_of_their_own_run_side_by_side() {
    let (one, two) = (folder(), folder());
    let one = EmbeddedServer::start(Options::throwaway(one.path())).expect("the first starts");
    let two = EmbeddedServer::start(Options::throwaway(two.path())).expect("the second starts");
    assert_ne!(one.process(), two.process());
    for server in [&one, &two] {
        let row = connect(&server.url("postgres", "postgres"))
            .await
            .query_one("select current_setting('data_directory')", &[])
            .await;
        assert_eq!(row.expect("answers").get::<_, String>(0), server.data_directory().display().to_string());
    }
}

#[test]
fn a_second_start_on_one_root_is_refused_and_told_who_keeps_the_server() {
    let root = folder();
    let holder = Holder::start(root.path());
    let error = EmbeddedServer::start(Options::durable(root.path())).expect_err("it is kept");
    assert!(matches!(error, Error::InUse { process: Some(process), .. } if process == holder.child.id()), "{error}");
    let found = RunningServer::find(root.path()).expect("it accepts connections");
    assert_eq!((found.keeper, found.url("postgres", "postgres")), (holder.child.id(), holder.url.clone()));
    drop(holder);
    assert_eq!(RunningServer::find(root.path()), None);
}

#[test]
fn a_start_that_may_wait_gets_the_server_when_the_other_process_ends() {
    let root = folder();
    let mut holder = Holder::start(root.path());
    let options = Options { lock_wait: LONG, ..Options::durable(root.path()) };
    let waiting = std::thread::spawn(move || EmbeddedServer::start(options));
    holder.kill_9();
    waiting.join().expect("no panic").expect("the lock is let go by the kernel");
}

#[test]
fn a_kill_9_of_the_keeper_stops_its_server_within_a_tenth_of_a_second() {
    let root = folder();
    let mut holder = Holder::start(root.path());
    let data = RunningServer::find(root.path()).expect("it runs").data_directory;
    let postmaster = postmaster_of(&data).expect("it runs");
    assert!(is_alive(postmaster));
    let began = Instant::now();
    holder.kill_9();
    assert!(holds_within(LONG, || !is_alive(postmaster)), "the server outlives its keeper");
    let took = began.elapsed();
    eprintln!("server gone after kill -9 of its keeper: {took:?}");
    // Ten times the measured time, because the machine that runs the tests may be busy.
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[tokio::test]
async fn acknowledged_commits_survive_a_kill_9_of_keeper_supervisor_and_server() {
    let root = folder();
    let mut holder = Holder::start(root.path());
    let client = connect(&holder.url).await;
    client.batch_execute("create table kept (value int)").await.expect("it is ours");
    for value in 0..100 {
        client.execute("insert into kept values ($1)", &[&value]).await.expect("acknowledged");
    }
    let data = RunningServer::find(root.path()).expect("it runs").data_directory;
    let postmaster = postmaster_of(&data).expect("it runs");
    kill_9(parent_of(postmaster));
    holder.kill_9();
    assert!(is_alive(postmaster), "without its supervisor the server is an orphan");
    // The next start ends the orphan, whose data nobody keeps any more.
    let server = EmbeddedServer::start(Options::durable(root.path())).expect("it starts beside an orphan");
    assert!(!is_alive(postmaster));
    let count = count_kept(&server).await;
    assert_eq!(count, 100);
    kill_9(parent_of(server.process()));
    kill_9(server.process());
    drop(server);
    let server = EmbeddedServer::start(Options::durable(root.path())).expect("it starts after a crash");
    assert_eq!(count_kept(&server).await, 100);
}

#[tokio::test]
async fn a_killed_server_is_restarted_by_its_keeper_with_every_acknowledged_commit() {
    for durable in [true, false] {
        let root = folder();
        let options = if durable { Options::durable(root.path()) } else { Options::throwaway(root.path()) };
        let mut server = EmbeddedServer::start(options).expect("it starts");
        let client = connect(&server.url("postgres", "postgres")).await;
        client.batch_execute("create table kept (value int)").await.expect("it is ours");
        for round in 1..=3 {
            let client = connect(&server.url("postgres", "postgres")).await;
            for value in 0..50 {
                client.execute("insert into kept values ($1)", &[&value]).await.expect("acknowledged");
            }
            let began = Instant::now();
            server.crash().expect("it dies");
            assert!(!server.is_running());
            let crashed = began.elapsed();
            server.restart().expect("it comes back");
            eprintln!("durable {durable}: crash {crashed:?}, restart {:?}", began.elapsed() - crashed);
            assert_eq!(count_kept(&server).await, 50 * round);
        }
    }
}

#[tokio::test]
async fn a_running_server_can_be_restarted_in_order() {
    let root = folder();
    let mut server = EmbeddedServer::start(Options::durable(root.path())).expect("it starts");
    let before = server.process();
    server.restart().expect("it restarts");
    assert_ne!(server.process(), before);
    connect(&server.url("postgres", "postgres")).await;
}

#[test]
fn a_stale_lock_file_with_the_number_of_a_stranger_does_not_stop_a_start() {
    let root = folder();
    let server = EmbeddedServer::start(Options::durable(root.path())).expect("it starts");
    let data = server.data_directory();
    let file = std::fs::read_to_string(data.join("postmaster.pid")).expect("it runs");
    let (_, rest) = file.split_once('\n').expect("it has lines");
    server.stop();
    // A process of the server's account that got the number of the server that was killed.
    let owner = std::fs::metadata(&data).expect("it is there");
    let mut stranger = std::process::Command::new("sleep");
    std::os::unix::process::CommandExt::uid(&mut stranger, owner.uid());
    let mut stranger = stranger.arg("600").current_dir("/").spawn().expect("sleep starts");
    std::fs::write(data.join("postmaster.pid"), format!("{}\n{rest}", stranger.id())).expect("we may write there");
    std::os::unix::fs::chown(data.join("postmaster.pid"), Some(owner.uid()), Some(owner.gid())).expect("we may");
    let started = EmbeddedServer::start(Options::durable(root.path()));
    let unharmed = is_alive(stranger.id());
    stranger.kill().expect("it is ours");
    stranger.wait().expect("it is ours");
    started.expect("the stranger is no server");
    assert!(unharmed, "the stranger must not be killed");
}

#[tokio::test]
async fn a_root_that_the_servers_account_cannot_reach_is_answered_with_another_place() {
    let root = folder();
    std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o700)).expect("it is ours");
    let inner = root.path().join("closed");
    let server = EmbeddedServer::start(Options::durable(&inner)).expect("it starts");
    let drops = rustix::process::geteuid().is_root();
    assert_eq!(server.is_relocated(), drops);
    assert_eq!(server.data_directory().starts_with(&inner), !drops);
    connect(&server.url("postgres", "postgres")).await;
    let place = server.data_directory();
    server.stop();
    let again = EmbeddedServer::start(Options::durable(&inner)).expect("it starts");
    assert_eq!(again.data_directory(), place, "the next start finds the data again");
    again.stop();
    if drops {
        std::fs::remove_dir_all(place.parent().and_then(std::path::Path::parent).expect("two above"))
            .expect("it is ours");
    }
}

#[tokio::test]
async fn a_long_root_still_gets_a_socket() {
    let root = folder();
    let inner = root.path().join("a-folder-with-a-long-name-".repeat(6));
    let server = EmbeddedServer::start(Options::throwaway(&inner)).expect("it starts");
    connect(&server.url("postgres", "postgres")).await;
    let socket = server.socket_directory().to_owned();
    assert_eq!(std::fs::metadata(&socket).expect("it is there").mode() & 0o777, 0o700);
    server.stop();
    assert!(!socket.exists(), "a throwaway server leaves no socket folder");
    assert!(!inner.join("postgres").exists(), "a throwaway server leaves no data");
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let root = folder();
    let options = Options { settings: vec!["shared_buffers=nonsense".to_owned()], ..Options::throwaway(root.path()) };
    let error = EmbeddedServer::start(options).expect_err("the setting is refused").to_string();
    assert!(error.contains("shared_buffers"), "{error}");
}

fn parent_of(process: u32) -> u32 {
    let output = std::process::Command::new("ps").args(["-o", "ppid=", "-p", &process.to_string()]).output();
    String::from_utf8(output.expect("ps runs").stdout).expect("digits").trim().parse().expect("it has a parent")
}

async fn count_kept(server: &EmbeddedServer) -> i64 {
    let client = connect(&server.url("postgres", "postgres")).await;
    client.query_one("select count(*) from kept", &[]).await.expect("it was kept").get(0)
}
