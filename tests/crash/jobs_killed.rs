//! Ten thousand jobs, eight workers, and somebody who kills them at random: each job's effect counts once, none is lost, none
//! is stuck, and those that cannot succeed are dead and alerted once.
//!
//! `TIDEMARK_SOAK_SECONDS` is how long workers are killed (20), `TIDEMARK_SOAK_SEED` repeats the choices of a run.

use std::time::{Duration, Instant};

use serde_json::json;
use tidemark_queue::jobs::{self, NewJob};
use tidemark_testkit::{TestDatabase, invariants};
use tokio::process::{Child, Command};
use tokio_postgres::Client;
use uuid::Uuid;

const WORKERS: usize = 8;
const JOBS: usize = 10_000;
/// Jobs that fail each time, and jobs that take their process down with them.
const FAILING: usize = 40;
const KILLING: usize = 4;
/// Jobs come in so many portions over the time of the killing.
const PORTIONS: usize = 100;
/// Attempts of jobs that can succeed: a death with one job alone costs that job an attempt.
const ATTEMPTS: i32 = 50;
/// How long the queue may take to come to rest once nobody is killed any more.
const REST_LIMIT: Duration = Duration::from_secs(120);

/// What the workers' handlers leave behind: one row per job, whatever the number of attempts.
const EFFECTS: &str = "
    CREATE SCHEMA soak;
    CREATE TABLE soak.effects (job_id uuid PRIMARY KEY, calls integer NOT NULL);
    CREATE FUNCTION soak.effect(p_job_id uuid) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
        INSERT INTO soak.effects AS effect (job_id, calls) VALUES (p_job_id, 1)
        ON CONFLICT (job_id) DO UPDATE SET calls = effect.calls + 1
    $$;
    GRANT USAGE ON SCHEMA soak TO tidemark_worker;
    GRANT EXECUTE ON FUNCTION soak.effect(uuid) TO tidemark_worker;
    UPDATE public.stats_projection_worker_settings SET job_lease_seconds = 3, job_backoff_seconds = 1, job_backoff_max_seconds = 2;";

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// A generator of choices that a seed repeats (SplitMix64).
struct Choices(u64);

impl Choices {
    fn new() -> Self {
        let seed = number("TIDEMARK_SOAK_SEED").unwrap_or_else(|| Uuid::new_v4().as_u64_pair().0);
        println!("TIDEMARK_SOAK_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// The worker processes. They go with this value.
struct Workers {
    url: String,
    living: Vec<Child>,
    killed: usize,
}

impl Workers {
    fn start(url: String) -> Self {
        let living = (0..WORKERS).map(|_| launch(&url)).collect();
        Self { url, living, killed: 0 }
    }

    /// Kills one (SIGKILL) and starts another in its place.
    async fn kill(&mut self, place: usize) {
        self.living[place].kill().await.unwrap();
        self.living[place] = launch(&self.url);
        self.killed += 1;
    }

    /// Starts others in place of those that a job took down.
    fn replace_dead(&mut self) {
        for worker in &mut self.living {
            if worker.try_wait().unwrap().is_some() {
                *worker = launch(&self.url);
            }
        }
    }
}

fn launch(url: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_soak_worker"));
    command.env_clear().env("DATABASE_URL", url).kill_on_drop(true).spawn().unwrap()
}

async fn enqueue(client: &Client, job_type: i32, count: usize, max_attempts: i32) {
    let job = NewJob { max_attempts, ..NewJob::new(job_type, json!({})) };
    let enqueued = jobs::enqueue_many(client, &vec![job; count]).await.unwrap();
    assert!(enqueued.iter().all(|job| job.inserted));
}

/// Enqueues everything, portion by portion over `time`.
async fn produce(client: &Client, time: Duration) {
    let mut pace = tokio::time::interval(time / u32::try_from(PORTIONS).unwrap());
    for portion in 0..PORTIONS {
        pace.tick().await;
        enqueue(client, 100, JOBS / PORTIONS, ATTEMPTS).await;
        if portion < FAILING {
            enqueue(client, 101, 1, 3).await;
        }
        if portion % (PORTIONS / KILLING) == 0 {
            enqueue(client, 102, 1, 3).await;
        }
    }
}

/// Kills a worker every so often until `time` is over.
async fn kill_at_random(workers: &mut Workers, choices: &mut Choices, time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        // Not a wait for anything: when to kill is the choice.
        tokio::time::sleep(Duration::from_millis(50 + choices.below(400))).await;
        let place = usize::try_from(choices.below(WORKERS as u64)).unwrap();
        workers.kill(place).await;
        workers.replace_dead();
    }
}

/// Waits until nothing waits or runs any more.
async fn until_at_rest(client: &Client, workers: &mut Workers) {
    let began = Instant::now();
    let waiting = "SELECT count(*) FROM public.jobs WHERE status IN (1, 2) AND job_type >= 100";
    loop {
        let left: i64 = client.query_one(waiting, &[]).await.unwrap().get(0);
        if left == 0 {
            return;
        }
        assert!(began.elapsed() < REST_LIMIT, "{left} jobs are stuck");
        workers.replace_dead();
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn count(client: &Client, query: &str) -> i64 {
    client.query_one(query, &[]).await.unwrap_or_else(|error| panic!("{query}: {error:?}")).get(0)
}

async fn check(client: &Client) {
    let whole = |number: usize| i64::try_from(number).unwrap();
    for (what, query, expected) in [
        ("done", "SELECT count(*) FROM public.jobs WHERE job_type = 100 AND status = 3", whole(JOBS)),
        (
            "effects of the done",
            "SELECT count(*) FROM soak.effects JOIN public.jobs USING (job_id) WHERE job_type = 100 AND calls >= 1",
            whole(JOBS),
        ),
        (
            "done within their attempts",
            "SELECT count(*) FROM public.jobs WHERE job_type = 100 AND attempts BETWEEN 1 AND max_attempts",
            whole(JOBS),
        ),
        (
            "dead with all attempts used up",
            "SELECT count(*) FROM public.jobs WHERE job_type = 101 AND status = 4 AND attempts = 3 AND error_code IN ('as_ever', 'lease_expired')",
            whole(FAILING),
        ),
        (
            "dead by the deaths of their workers alone",
            "SELECT count(*) FROM public.jobs JOIN soak.effects USING (job_id)
             WHERE job_type = 102 AND status = 4 AND attempts = 3 AND error_code = 'lease_expired'",
            whole(KILLING),
        ),
        ("jobs in all", "SELECT count(*) FROM public.jobs WHERE job_type >= 100", whole(JOBS + FAILING + KILLING)),
        (
            "alerts about dead jobs",
            "SELECT count(*) FROM public.alert_outbox WHERE kind = 'job_dead' AND resolved_at IS NULL",
            2,
        ),
        (
            "deaths told by the alert about those that fail",
            "SELECT sum(occurrences)::bigint FROM public.alert_outbox WHERE kind = 'job_dead' AND subject = 'job_type 101'",
            whole(FAILING),
        ),
        (
            "deaths told by the alert about those that kill",
            "SELECT sum(occurrences)::bigint FROM public.alert_outbox WHERE kind = 'job_dead' AND subject = 'job_type 102'",
            whole(KILLING),
        ),
    ] {
        assert_eq!(count(client, query).await, expected, "{what}");
    }
    let violations = invariants::violations(client).await;
    assert!(violations.is_empty(), "invariants broken:\n{}", violations.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_that_are_killed_at_random_do_every_job_once_and_lose_none() {
    let time = Duration::from_secs(number("TIDEMARK_SOAK_SECONDS").unwrap_or(20));
    let mut choices = Choices::new();
    let database = TestDatabase::new().await;
    let (admin, producer) = (database.admin().await, database.admin().await);
    admin.batch_execute(EFFECTS).await.unwrap();
    let mut workers = Workers::start(database.url_for("tidemark_worker"));
    tokio::join!(produce(&producer, time), kill_at_random(&mut workers, &mut choices, time));
    let unfinished = count(&admin, "SELECT count(*) FROM public.jobs WHERE status IN (1, 2)").await;
    until_at_rest(&admin, &mut workers).await;
    let killed = workers.killed;
    drop(workers);
    check(&admin).await;
    let repeated = count(
        &admin,
        "SELECT sum(calls - 1)::bigint FROM soak.effects JOIN public.jobs USING (job_id) WHERE job_type = 100",
    )
    .await;
    println!("{killed} workers killed; {unfinished} jobs unfinished then; {repeated} handlers ran again");
    assert!(killed > 10, "the workers were killed");
}
