//! Alerts end to end: raised in the transaction of their event, delivered by the queue, told once, resolved told too.

use secrecy::SecretString;
use serde_json::{Value, json};
use tidemark_alerts::Targets;
use tidemark_handlers::handlers::{Configuration, registry};
use tidemark_queue::Summary;
use tidemark_queue::jobs::{self, NewJob, Requeued, Status};
use tidemark_testkit::{CapturedLog, HttpSink, SinkAnswer};
use tokio_postgres::types::Json;
use uuid::Uuid;

use crate::probe::PROBE;
use crate::yard::Yard;

/// Stands in the URL of every target; must be seen nowhere.
const CANARY: &str = "canary-halcyon";

/// A yard whose alerts go to these sinks, named `one`, `two`, …
async fn yard_with(sinks: &[&HttpSink]) -> Yard {
    let mut yard = Yard::new().await;
    let listed: Vec<Value> = ["one", "two", "three"]
        .iter()
        .zip(sinks)
        .map(|(name, sink)| json!({"name": name, "kind": "json", "url": sink.url(&format!("/{CANARY}"))}))
        .collect();
    let targets = Targets::parse(&SecretString::from(json!(listed).to_string())).unwrap();
    let configuration = Configuration { alert_targets: Some(targets), ..Configuration::default() };
    yard.registry = registry(configuration).unwrap().register(PROBE, yard.probe.clone());
    yard
}

/// A job that dies at its first attempt, and the invocation in which it does.
async fn let_one_die(yard: &Yard) -> (Uuid, Summary) {
    let job = yard.enqueue(json!({"permanent": "no such receiver"})).await;
    (job, yard.work().await)
}

/// What each request to the sink told: kind, state and occurrences of its alerts.
fn told(sink: &HttpSink) -> Vec<Vec<(String, String, u64)>> {
    let alerts = |body: &[u8]| {
        let message: Value = serde_json::from_slice(body).unwrap();
        let listed = message["alerts"].as_array().unwrap().clone();
        let text = |alert: &Value, field: &str| alert[field].as_str().unwrap().to_owned();
        listed
            .iter()
            .map(|alert| (text(alert, "kind"), text(alert, "state"), alert["occurrences"].as_u64().unwrap()))
            .collect()
    };
    sink.requests().iter().map(|request| alerts(&request.body)).collect()
}

fn one(kind: &str, state: &str, occurrences: u64) -> Vec<(String, String, u64)> {
    vec![(kind.to_owned(), state.to_owned(), occurrences)]
}

/// The newest alert job.
async fn alert_job(yard: &Yard) -> jobs::Job {
    jobs::find_latest(&yard.pipeline.admin, "tidemark.alerts").await.unwrap().expect("alerts were sent")
}

async fn untold(yard: &Yard) -> i64 {
    yard.pipeline.one("SELECT count(*) FROM tidemark.alerts_untold()", &[]).await.get(0)
}

#[tokio::test]
async fn a_dead_job_is_told_once_and_its_recovery_is_told_too() {
    let sink = HttpSink::start([]).await;
    let yard = yard_with(&[&sink]).await;
    let (job, _summary) = let_one_die(&yard).await;
    assert_eq!(yard.open_alerts("job_dead").await, (1, 1));
    yard.work().await;
    assert_eq!(told(&sink), [one("job_dead", "raised", 1)]);
    assert_eq!(
        alert_job(&yard).await.result.unwrap().value().unwrap(),
        json!({"alerts": 1, "messages": 1, "targets": 1})
    );
    yard.work().await;
    assert_eq!(sink.requests().len(), 1, "told is told");

    let requeued = jobs::requeue(&yard.pipeline.admin, &[job]).await.unwrap();
    assert_eq!(requeued, [Requeued::Pending]);
    assert_eq!(
        jobs::cancel(&yard.pipeline.admin, job).await.unwrap(),
        jobs::Cancelled::Dead,
        "and nobody runs it again"
    );
    yard.work().await;
    assert_eq!(told(&sink)[1..], [one("job_dead", "resolved", 1)]);
    assert_eq!(untold(&yard).await, 0);
    yard.check_invariants().await;
}

#[tokio::test]
async fn an_alert_is_raised_in_the_transaction_of_its_event_or_not_at_all() {
    let sink = HttpSink::start([]).await;
    let yard = yard_with(&[&sink]).await;
    let job = yard.enqueue(json!("hold")).await;
    let worker = yard.pipeline.database.worker().await;
    let id = Uuid::new_v4();
    let claimed = jobs::claim(&worker, &jobs::ClaimRequest::new(id, 1)).await.unwrap();
    let fence = claimed[0].fence;
    let mut admin = yard.pipeline.database.admin().await;
    let transaction = admin.transaction().await.unwrap();
    let end = "SELECT tidemark.jobs_end_v1($1, ARRAY[$2::bigint], ARRAY[$3::uuid], ARRAY[1], ARRAY['dead'])";
    transaction.query_one(end, &[&id, &fence.lease_id, &job]).await.unwrap();
    let raised = "SELECT count(*) FROM public.alert_outbox WHERE kind = 'job_dead'";
    assert_eq!(transaction.query_one(raised, &[]).await.unwrap().get::<_, i64>(0), 1);
    transaction.rollback().await.unwrap();
    assert_eq!(yard.open_alerts("job_dead").await, (0, 0));
    assert_eq!(jobs::fail_permanent(&worker, &fence, "x", "x").await.unwrap(), jobs::Ended::Dead);
    assert_eq!(yard.open_alerts("job_dead").await, (1, 1));
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_storm_of_a_thousand_dead_jobs_is_one_message_with_its_count() {
    let sink = HttpSink::start([]).await;
    let yard = yard_with(&[&sink]).await;
    let new: Vec<NewJob> = (0..1_000).map(|_| NewJob::new(PROBE, json!({"permanent": "no"}))).collect();
    jobs::enqueue_many(&yard.pipeline.admin, &new).await.unwrap();
    let summary = yard.work().await;
    assert_eq!(summary.failed, 1_000);
    for _tick in 0..3 {
        yard.work().await;
    }
    assert_eq!(yard.open_alerts("job_dead").await, (1, 1_000));
    assert_eq!(told(&sink), [one("job_dead", "raised", 1_000)]);
    yard.check_invariants().await;
}

#[tokio::test]
async fn an_alert_that_goes_on_is_told_again_after_an_hour_with_its_count() {
    let sink = HttpSink::start([]).await;
    let yard = yard_with(&[&sink]).await;
    let_one_die(&yard).await;
    yard.work().await;
    let_one_die(&yard).await;
    yard.work().await;
    assert_eq!(sink.requests().len(), 1, "not within the hour");
    yard.pipeline.run("UPDATE public.alert_outbox SET noticed_at = noticed_at - interval '61 minutes'", &[]).await;
    yard.work().await;
    assert_eq!(told(&sink)[1..], [one("job_dead", "raised", 2)]);
    yard.check_invariants().await;
}

#[tokio::test]
async fn without_targets_alerts_are_told_to_nobody_and_the_job_is_done() {
    let mut yard = Yard::new().await;
    yard.registry = registry(Configuration::default()).unwrap().register(PROBE, yard.probe.clone());
    let_one_die(&yard).await;
    yard.work().await;
    assert_eq!(
        alert_job(&yard).await.result.unwrap().value().unwrap(),
        json!({"alerts": 1, "messages": 0, "targets": 0})
    );
    assert_eq!(untold(&yard).await, 0);
    assert_eq!(yard.open_alerts("job_dead").await, (1, 1), "it stays open for whoever looks");
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_target_that_is_away_keeps_no_other_waiting_and_gets_it_when_it_is_back_without_a_repetition() {
    let (healthy, away) =
        (HttpSink::start([]).await, HttpSink::start([SinkAnswer::Status(503), SinkAnswer::Status(200)]).await);
    let yard = yard_with(&[&healthy, &away]).await;
    let_one_die(&yard).await;
    yard.work().await;
    let job = alert_job(&yard).await;
    assert_eq!((job.status, job.attempts), (Status::Pending, 1));
    assert_eq!(job.last_error, "alert targets that could not be reached: two");
    assert_eq!((healthy.requests().len(), away.requests().len()), (1, 1));
    assert_eq!(untold(&yard).await, 1);
    yard.make_due().await;
    yard.work().await;
    assert_eq!(alert_job(&yard).await.status, Status::Done);
    assert_eq!((healthy.requests().len(), away.requests().len()), (1, 2), "who had it is not told again");
    assert_eq!(told(&away), [one("job_dead", "raised", 1), one("job_dead", "raised", 1)]);
    let keys: Vec<_> = away.requests().iter().map(|request| request.headers["idempotency-key"].clone()).collect();
    assert_eq!(keys[0], keys[1], "the receiver recognises the repetition");
    assert_eq!(untold(&yard).await, 0);
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_recovery_while_one_target_is_away_is_told_to_those_who_know_of_the_trouble() {
    let (healthy, away) =
        (HttpSink::start([]).await, HttpSink::start([SinkAnswer::Status(503), SinkAnswer::Status(200)]).await);
    let yard = yard_with(&[&healthy, &away]).await;
    yard.pipeline.run("INSERT INTO public.alert_outbox (kind, subject) VALUES ('test', 'trouble')", &[]).await;
    yard.work().await;
    yard.pipeline.run("UPDATE public.alert_outbox SET resolved_at = clock_timestamp()", &[]).await;
    yard.work().await;
    assert_eq!(healthy.requests().len(), 1, "the delivery is on its way");
    yard.make_due().await;
    yard.work().await;
    assert_eq!(told(&healthy), [one("test", "raised", 1), one("test", "resolved", 1)]);
    assert_eq!(told(&away)[1..], [one("test", "resolved", 1)]);
    assert_eq!(untold(&yard).await, 0);
    yard.check_invariants().await;
}

#[tokio::test]
async fn what_is_over_before_anybody_was_told_is_told_to_nobody() {
    let sink = HttpSink::start([]).await;
    let yard = yard_with(&[&sink]).await;
    let over =
        "INSERT INTO public.alert_outbox (kind, subject, resolved_at) VALUES ('test', 'over', clock_timestamp())";
    yard.pipeline.run(over, &[]).await;
    yard.work().await;
    assert_eq!(sink.requests().len(), 0);
    assert_eq!(untold(&yard).await, 0);
    yard.check_invariants().await;
}

#[tokio::test]
async fn new_alerts_reach_the_others_while_one_target_is_away() {
    let (healthy, away) = (HttpSink::start([]).await, HttpSink::start([SinkAnswer::Status(503)]).await);
    let yard = yard_with(&[&healthy, &away]).await;
    let_one_die(&yard).await;
    yard.work().await;
    yard.pipeline.run("INSERT INTO public.alert_outbox (kind, subject) VALUES ('test', 'later')", &[]).await;
    yard.make_due().await;
    yard.work().await;
    assert_eq!(told(&healthy), [one("job_dead", "raised", 1), one("test", "raised", 1)]);
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_target_that_asks_to_be_left_alone_is_left_alone_and_no_attempt_is_charged() {
    let (healthy, busy) = (
        HttpSink::start([]).await,
        HttpSink::start([SinkAnswer::RetryAfter(429, "120".to_owned()), SinkAnswer::Status(200)]).await,
    );
    let yard = yard_with(&[&healthy, &busy]).await;
    let_one_die(&yard).await;
    yard.work().await;
    let job = alert_job(&yard).await;
    assert_eq!((job.status, job.attempts), (Status::Pending, 0));
    let rest =
        "SELECT extract(epoch FROM due_at - clock_timestamp())::float8 FROM tidemark.job_scheduled WHERE job_id = $1";
    let rest: f64 = yard.pipeline.one(rest, &[&job.job_id]).await.get(0);
    assert!((110.0..=120.0).contains(&rest), "{rest}");
    // Somebody lets the job go early: the target is left alone all the same.
    yard.make_due().await;
    yard.work().await;
    assert_eq!((healthy.requests().len(), busy.requests().len()), (1, 1));
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_target_that_refuses_for_good_is_a_diagnostic_and_the_others_are_told() {
    let (healthy, gone) = (HttpSink::start([]).await, HttpSink::start([SinkAnswer::Status(404)]).await);
    let yard = yard_with(&[&healthy, &gone]).await;
    let_one_die(&yard).await;
    yard.work().await;
    let job = alert_job(&yard).await;
    assert_eq!(job.status, Status::Done);
    let result = job.result.unwrap().value().unwrap();
    assert_eq!(result["degraded"], json!(true), "{result}");
    assert_eq!(result["diagnostics"], json!([{"channel": "two", "error": "status 404"}]));
    assert_eq!((healthy.requests().len(), gone.requests().len()), (1, 1));
    assert_eq!(untold(&yard).await, 0);
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_slow_target_holds_up_no_other_and_ends_with_the_handlers_time() {
    let (healthy, slow) = (HttpSink::start([]).await, HttpSink::start([SinkAnswer::Held]).await);
    let yard = yard_with(&[&healthy, &slow]).await;
    yard.pipeline.set("work_timeout_ms", "2000").await;
    let_one_die(&yard).await;
    yard.work().await;
    assert_eq!((healthy.requests().len(), slow.requests().len()), (1, 1));
    let job = alert_job(&yard).await;
    assert_eq!((job.status, job.attempts), (Status::Pending, 1));
    assert_eq!(job.last_error, "alert targets that could not be reached: two", "the handler ended by itself");
    yard.check_invariants().await;
}

#[tokio::test]
async fn with_the_last_attempt_a_target_that_is_still_away_is_given_up_and_the_others_are_not_told_twice() {
    let (healthy, away) = (HttpSink::start([]).await, HttpSink::start([SinkAnswer::Cut]).await);
    let yard = yard_with(&[&healthy, &away]).await;
    let_one_die(&yard).await;
    for _attempt in 0..10 {
        yard.work().await;
        yard.make_due().await;
    }
    let job = alert_job(&yard).await;
    assert_eq!((job.status, job.attempts), (Status::Done, 10));
    assert_eq!((healthy.requests().len(), away.requests().len()), (1, 10));
    assert_eq!(untold(&yard).await, 0);
    yard.check_invariants().await;
}

#[tokio::test]
async fn an_alert_that_nobody_takes_dies_without_an_alert_about_itself_and_is_tried_anew_after_ten_minutes() {
    let away = HttpSink::start([SinkAnswer::Status(500)]).await;
    let yard = yard_with(&[&away]).await;
    let_one_die(&yard).await;
    for _attempt in 0..10 {
        yard.work().await;
        yard.make_due().await;
    }
    assert_eq!(alert_job(&yard).await.status, Status::Dead);
    assert_eq!(yard.open_alerts("job_dead").await, (1, 1), "the one that was raised at first");
    yard.work().await;
    assert_eq!(away.requests().len(), 10, "not at once");
    yard.pipeline.run("UPDATE tidemark.job_finished SET finished_at = finished_at - interval '11 minutes'", &[]).await;
    yard.work().await;
    assert_eq!(away.requests().len(), 11);
    yard.check_invariants().await;
}

#[tokio::test]
async fn the_url_of_a_target_is_seen_in_no_log_row_answer_or_status() {
    let logged = CapturedLog::everything();
    let answers =
        [SinkAnswer::Status(503), SinkAnswer::Redirect(302, format!("http://127.0.0.1/{CANARY}")), SinkAnswer::Noise];
    let sinks = [HttpSink::start(answers).await, HttpSink::start([SinkAnswer::Cut]).await, HttpSink::start([]).await];
    let yard = yard_with(&[&sinks[0], &sinks[1], &sinks[2]]).await;
    let (_job, summary) = let_one_die(&yard).await;
    let mut answers = format!("{summary:?} {summary}");
    for _attempt in 0..3 {
        let summary = yard.work().await;
        answers += &format!("{summary:?} {} ", serde_json::to_string(&summary).unwrap());
        yard.make_due().await;
    }
    assert!(sinks.iter().all(|sink| sink.requests().iter().all(|request| request.path.contains(CANARY))));
    assert!(sinks[1].requests().len() > 1, "a target was away");
    let status: Json<Value> = yard.pipeline.one("SELECT public.stats_projection_worker_status_v1()", &[]).await.get(0);
    let rows = "SELECT concat((SELECT string_agg(job::text, ' ') FROM public.jobs AS job),
        (SELECT string_agg(alert::text, ' ') FROM public.alert_outbox AS alert), (SELECT string_agg(tick::text, ' ') FROM tidemark.ticks AS tick))";
    let rows: String = yard.pipeline.one(rows, &[]).await.get(0);
    let log = logged.text();
    assert!(log.contains("an alert target is away"), "the log is captured");
    for (place, text) in [("status", status.0.to_string()), ("rows", rows), ("answers", answers), ("log", log)] {
        assert!(!text.contains("canary"), "the URL is seen in the {place}");
    }
    yard.check_invariants().await;
}
