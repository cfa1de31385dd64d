//! The throwaway server of all test processes.

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use support::{connect, folder, holds_within, is_alive, kill_9};
use tidemark_postgres::{Search, SharedOptions, SharedServer};

fn options(base: &Path, linger: Duration) -> SharedOptions {
    let search = Search::from_environment();
    SharedOptions { base: base.to_owned(), key: "test".to_owned(), linger, settings: Vec::new(), search }
}

#[tokio::test]
async fn all_users_share_one_server_that_goes_after_the_last_of_them() {
    let base = folder();
    let options = options(base.path(), Duration::from_millis(200));
    let began = Instant::now();
    let first = SharedServer::attach(&options).expect("it starts");
    let cold = began.elapsed();
    let process = first.process().expect("it runs");
    let others: Vec<_> = (0..4)
        .map(|_| {
            let options = options.clone();
            std::thread::spawn(move || SharedServer::attach(&options).expect("it takes hold"))
        })
        .collect();
    let others: Vec<_> = others.into_iter().map(|other| other.join().expect("no panic")).collect();
    eprintln!("shared server: cold {cold:?}, with four more users {:?}", began.elapsed());
    assert!(others.iter().all(|other| other.process() == Some(process)));
    drop(first);
    connect(&others[0].url("postgres", "postgres")).await;
    assert!(is_alive(process), "it is still held");
    let home = others[0].data_directory();
    drop(others);
    assert!(holds_within(Duration::from_secs(20), || !is_alive(process)), "nobody holds it");
    assert!(holds_within(Duration::from_secs(20), || !home.exists()), "its data goes with it");
}

#[tokio::test]
async fn a_user_who_comes_while_the_server_lingers_keeps_it() {
    let base = folder();
    let options = options(base.path(), Duration::from_millis(1_500));
    let first = SharedServer::attach(&options).expect("it starts");
    let process = first.process().expect("it runs");
    drop(first);
    let second = SharedServer::attach(&options).expect("it takes hold");
    assert_eq!(second.process(), Some(process));
    // Longer than the linger: a held server stays.
    assert!(!holds_within(Duration::from_millis(2_500), || !is_alive(process)), "it went while it was held");
    connect(&second.url("postgres", "postgres")).await;
}

#[test]
fn users_with_another_key_get_another_server() {
    let base = folder();
    let options = options(base.path(), Duration::ZERO);
    let one = SharedServer::attach(&options).expect("it starts");
    let two = SharedServer::attach(&SharedOptions { key: "other".to_owned(), ..options.clone() }).expect("it starts");
    assert_ne!(one.process(), two.process());
    let again = SharedServer::attach(&options).expect("it takes hold");
    assert_eq!(again.process(), one.process());
}

#[tokio::test]
async fn a_killed_shared_server_is_replaced_by_a_new_one() {
    let base = folder();
    let options = options(base.path(), Duration::from_millis(100));
    let first = SharedServer::attach(&options).expect("it starts");
    let process = first.process().expect("it runs");
    kill_9(process);
    assert!(holds_within(Duration::from_secs(20), || !is_alive(process)));
    let second = SharedServer::attach(&options).expect("a new one starts");
    assert_ne!(second.process(), Some(process));
    connect(&second.url("postgres", "postgres")).await;
}

#[tokio::test]
async fn users_that_come_and_go_all_the_time_never_meet_a_dying_server() {
    let base = folder();
    // No linger at all: every moment is the end of some server.
    let options = options(base.path(), Duration::ZERO);
    let runtime = tokio::runtime::Handle::current();
    let users: Vec<_> = (0..3)
        .map(|_| {
            let (options, runtime) = (options.clone(), runtime.clone());
            tokio::task::spawn_blocking(move || {
                for _ in 0..5 {
                    let server = SharedServer::attach(&options).expect("there is always one");
                    runtime.block_on(async {
                        let client = connect(&server.url("postgres", "postgres")).await;
                        client.batch_execute("select 1").await.expect("a held server answers");
                    });
                }
            })
        })
        .collect();
    for user in users {
        user.await.expect("no panic");
    }
}
