//! `kill -9` of the whole server inside each phase: the restarted one has the same figures as an undisturbed one.

use tidemark_queue::Outcome;
use tidemark_testkit::Server;

use crate::scene::{Gate, Scene, Workers};

/// The phases in which the server is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Claim,
    Reading,
    Staging,
    Publishing,
}

/// Kills the server while a worker is inside the phase, restarts it, lets the leases run out, and refreshes.
async fn crash(inside: Inside) {
    let mut server = Server::start();
    server.migrate("postgres").await;
    let connector = server.connector("tidemark_worker", "postgres");
    let mut workers = Workers::new(&connector);
    let mut scene = Scene::new(server.admin("postgres").await, &mut workers).await;
    if inside != Inside::Claim {
        workers.claim().await;
    }
    if inside == Inside::Publishing {
        workers.compute().await;
    }
    let holder = server.admin("postgres").await;
    let _gate = match inside {
        Inside::Claim => Gate::close(holder, "LOCK TABLE public.user_stats_projection_runs IN SHARE MODE").await,
        Inside::Reading => Gate::close(holder, "LOCK TABLE public.workout_sets IN ACCESS EXCLUSIVE MODE").await,
        Inside::Staging => Gate::close(holder, "LOCK TABLE tidemark.staged_results IN SHARE MODE").await,
        Inside::Publishing => Gate::close_state_row(holder, scene.user).await,
    };
    let work = async {
        match inside {
            Inside::Claim => workers.claim().await,
            Inside::Reading | Inside::Staging => workers.compute().await,
            Inside::Publishing => workers.publish().await,
        }
    };
    let crashing = async {
        scene.until_blocked().await;
        server.crash();
    };
    let (summary, ()) = tokio::join!(work, crashing);
    assert_eq!(summary.succeeded, 0);
    assert!(matches!(summary.outcome, Outcome::Unavailable | Outcome::Failed), "{summary:?}");

    server.restart();
    scene.admin = server.admin("postgres").await;
    assert_eq!(scene.figures().await, scene.expected[0], "a publish is seen whole or not at all");
    scene.check_invariants().await;
    scene.save(2).await;
    scene.expire_leases().await;
    workers.refresh().await;
    scene.check_fresh(2).await;
    // What claim had not committed is nobody's attempt; a run that was inside a phase was one.
    let runs = scene.runs().await;
    assert_eq!(runs.len(), if inside == Inside::Claim { 1 } else { 2 }, "{runs:?}");
    assert_eq!(runs.last().map(|run| run.0.as_str()), Some("published"));
}

#[tokio::test]
async fn a_server_killed_while_a_claim_mints_has_no_lease_and_loses_no_mark() {
    crash(Inside::Claim).await;
}

#[tokio::test]
async fn a_server_killed_while_a_compute_reads_loses_no_mark() {
    crash(Inside::Reading).await;
}

#[tokio::test]
async fn a_server_killed_while_a_compute_stages_loses_no_mark() {
    crash(Inside::Staging).await;
}

#[tokio::test]
async fn a_server_killed_while_a_publish_applies_shows_nothing_of_it() {
    crash(Inside::Publishing).await;
}
