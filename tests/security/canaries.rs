//! A secret and a person's values appear where they belong and nowhere else: no log, no error, no alert, no status.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tidemark_testkit::{CapturedLog, Simulator, SocketConnector};
use tidemark_tests::{Pipeline, binaries, invocation};
use tokio_postgres::types::Json;
use uuid::Uuid;

/// Part of every value that must not be seen.
const NAME: &str = "canary-zygodactyl";
const WEIGHT: &str = "777.123";
const PASSWORD: &str = "canary-password-4711";

/// A pipeline with a user whose exercise and weight are canaries, claimed.
async fn claimed() -> (Pipeline, Uuid) {
    let mut pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let workout = json!({
        "started_at": "2026-07-19T17:30:00Z", "title": NAME, "notes": NAME,
        "sets": [{"exercise": NAME, "weight": 777.123_456_789, "reps": 5, "notes": NAME}]
    });
    pipeline.one("SELECT public.save_workout_v1($1, $2)", &[&user, &Json(workout)]).await;
    assert_eq!(pipeline.claim().await.succeeded, 1);
    (pipeline, user)
}

/// The worker's URL with a password, which a socket on the same machine does not ask for.
fn url_with_password(pipeline: &Pipeline) -> String {
    let url = pipeline.database.url_for("tidemark_worker");
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}password={PASSWORD}")
}

/// Runs compute and publish with a password in their connector, and returns what they answer.
async fn answers_of_the_functions(pipeline: &Pipeline) -> String {
    let connector = Arc::new(SocketConnector::new(url_with_password(pipeline)));
    let mut connection = tidemark_queue::Connection::new(connector);
    let computed = tidemark_projection::compute::handle(&mut connection, &invocation()).await;
    let published = tidemark_projection::publish::handle(&mut connection, &invocation()).await;
    let answers = [computed, published];
    tracing::trace!("the functions have answered");
    assert!(CapturedLog::everything().text().contains("the functions have answered"), "the log is captured");
    format!("{answers:?} {}", serde_json::to_string(&answers).unwrap())
}

/// Fails where a canary is seen outside the source, the staged result and the projections.
async fn assert_nothing_is_seen(pipeline: &Pipeline, answers: &str) {
    let status: Json<serde_json::Value> =
        pipeline.one("SELECT public.stats_projection_worker_status_v1()", &[]).await.get(0);
    let recorded = "SELECT concat(
        (SELECT string_agg(run::text, ' ') FROM public.user_stats_projection_runs AS run),
        (SELECT string_agg(job::text, ' ') FROM public.user_exercise_stats_refresh_jobs AS job),
        (SELECT string_agg(alert::text, ' ') FROM public.alert_outbox AS alert),
        (SELECT string_agg(tick::text, ' ') FROM tidemark.ticks AS tick),
        (SELECT string_agg(state::text, ' ') FROM public.user_stats_projection_state AS state))";
    let recorded: String = pipeline.one(recorded, &[]).await.get(0);
    let logged = CapturedLog::everything().text();
    for (place, text) in
        [("status", status.0.to_string()), ("rows", recorded), ("answers", answers.to_owned()), ("log", logged)]
    {
        for canary in ["canary", NAME, WEIGHT, PASSWORD] {
            assert!(!text.contains(canary), "{canary} is seen in the {place}: {text}");
        }
    }
    pipeline.check_invariants().await;
}

/// The code recorded with the newest run.
async fn recorded_code(pipeline: &Pipeline) -> String {
    let query = "SELECT error_code FROM public.user_stats_projection_runs ORDER BY id DESC LIMIT 1";
    pipeline.one(query, &[]).await.get(0)
}

#[tokio::test]
async fn a_refresh_that_succeeds_tells_nobody_what_it_computed() {
    CapturedLog::everything();
    let (pipeline, user) = claimed().await;
    let answers = answers_of_the_functions(&pipeline).await;
    let published = "SELECT exercise_name FROM public.user_exercise_stats WHERE user_id = $1";
    assert_eq!(pipeline.one(published, &[&user]).await.get::<_, String>(0), NAME);
    assert_nothing_is_seen(&pipeline, &answers).await;
}

#[tokio::test]
async fn a_compute_that_meets_unknown_rows_tells_nobody_their_values() {
    CapturedLog::everything();
    let (pipeline, _user) = claimed().await;
    let unknown_kind = "ALTER TABLE public.workout_sets DROP CONSTRAINT workout_sets_kind;
        UPDATE public.workout_sets SET kind = 'canary-zygodactyl'";
    pipeline.admin.batch_execute(unknown_kind).await.unwrap();
    let answers = answers_of_the_functions(&pipeline).await;
    assert_eq!(recorded_code(&pipeline).await, "invalid");
    assert_nothing_is_seen(&pipeline, &answers).await;
}

/// Changes the staged result of the claimed run between compute and publish.
async fn publish_with_staged(change: &str) -> (Pipeline, String) {
    CapturedLog::everything();
    let (mut pipeline, _user) = claimed().await;
    assert_eq!(pipeline.compute().await.succeeded, 1);
    pipeline.admin.batch_execute(change).await.unwrap();
    let answers = answers_of_the_functions(&pipeline).await;
    (pipeline, answers)
}

#[tokio::test]
async fn a_publish_that_cannot_read_a_figure_tells_nobody_which() {
    let (pipeline, answers) = publish_with_staged(
        "UPDATE tidemark.staged_results SET document = jsonb_set(document, '{summary,total_volume_kg}', '\"canary-zygodactyl\"')",
    )
    .await;
    assert_eq!(recorded_code(&pipeline).await, "22P02");
    assert_nothing_is_seen(&pipeline, &answers).await;
}

#[tokio::test]
async fn a_publish_whose_row_breaks_a_constraint_tells_nobody_the_row() {
    // The server's own error lists the whole failing row.
    let (pipeline, answers) = publish_with_staged(
        "ALTER TABLE public.user_exercise_stats ADD CONSTRAINT user_exercise_stats_made_up CHECK (exercise_name NOT LIKE '%zygo%')",
    )
    .await;
    assert_eq!(recorded_code(&pipeline).await, "23514");
    let message: String = pipeline
        .one("SELECT error_message FROM public.user_stats_projection_runs ORDER BY id DESC LIMIT 1", &[])
        .await
        .get(0);
    assert!(message.contains("user_exercise_stats_made_up"), "{message}");
    assert_nothing_is_seen(&pipeline, &answers).await;
}

#[tokio::test]
async fn attempts_that_are_used_up_raise_an_alert_without_values() {
    CapturedLog::everything();
    let (pipeline, user) = claimed().await;
    pipeline.set("max_attempts", "1").await;
    pipeline
        .admin
        .batch_execute("ALTER TABLE public.workout_sets DROP CONSTRAINT workout_sets_kind; UPDATE public.workout_sets SET kind = 'canary-zygodactyl'")
        .await
        .unwrap();
    let answers = answers_of_the_functions(&pipeline).await;
    let alert = "SELECT subject FROM public.alert_outbox WHERE kind = 'refresh_exhausted' AND error_code = 'invalid'";
    assert_eq!(pipeline.one(alert, &[]).await.get::<_, String>(0), user.to_string());
    assert_nothing_is_seen(&pipeline, &answers).await;
}

/// Runs the real function at the most talkative level and returns its answer and its log.
async fn answer_and_log(name: &'static str, database_url: &str) -> String {
    let binary = tokio::task::spawn_blocking(move || binaries::function(name)).await.unwrap();
    let environment = [("DATABASE_URL", database_url), ("RUST_LOG", "trace")];
    let function = Simulator::start(binary, environment).await.unwrap();
    let limit = Duration::from_secs(20);
    let answer = function.invoke(json!({}), limit).await;
    // The answer and the log travel separately.
    function.wait_for_log(limit, |line| line.contains("invocation ended")).await.unwrap();
    format!("{answer:?}\n{}", function.logs().join("\n"))
}

#[tokio::test]
async fn the_real_functions_at_trace_level_tell_nobody_a_value_or_the_password() {
    let (pipeline, user) = claimed().await;
    let url = url_with_password(&pipeline);
    let computed = answer_and_log("compute", &url).await;
    // The server's own error for this figure repeats it.
    let unreadable = "UPDATE tidemark.staged_results
        SET document = jsonb_set(document, '{summary,total_volume_kg}', '\"canary-zygodactyl\"')";
    assert_eq!(pipeline.run(unreadable, &[]).await, 1);
    let published = answer_and_log("publish", &url).await;
    assert_eq!(recorded_code(&pipeline).await, "22P02");
    assert!(published.contains("22P02") && published.contains(&user.to_string()), "{published}");
    assert_nothing_is_seen(&pipeline, &format!("{computed}\n{published}")).await;
}
