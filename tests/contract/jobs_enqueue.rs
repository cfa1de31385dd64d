//! Enqueueing: what is accepted, what is refused before anything is sent, and what a key answers.

use std::time::Duration;

use serde_json::{Value, json};
use tidemark_queue::Error;
use tidemark_queue::jobs::{self, ENQUEUE_LIMIT, NewJob, PAYLOAD_BYTES, Status};
use tidemark_tests::jobs::{JOB_TYPE, Queue, plain};
use uuid::Uuid;

/// The text with which a job is refused.
async fn refusal(queue: &Queue, job: NewJob) -> String {
    match jobs::enqueue(&queue.worker, &job).await {
        Err(Error::Invalid(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_job_is_claimed_with_what_was_enqueued() {
    let queue = Queue::new().await;
    let job = NewJob::new(7, json!({"who": "me"})).dedupe_key("k").priority(3).max_attempts(5).group_key("g");
    let job_id = queue.enqueue(job).await;

    let claimed = queue.claim_one().await;
    assert_eq!(claimed.fence.job_id, job_id);
    assert_eq!((claimed.job_type, claimed.priority, claimed.fence.attempt, claimed.max_attempts), (7, 3, 1, 5));
    assert_eq!(claimed.payload.value().unwrap(), json!({"who": "me"}));
    assert_eq!((claimed.dedupe_key.as_deref(), claimed.group_key.as_deref()), (Some("k"), Some("g")));
    assert!(claimed.lease_until > claimed.created_at && !claimed.suspect);

    assert_eq!(jobs::complete(&queue.worker, &claimed.fence, Some(json!(42))).await.unwrap(), jobs::Ended::Done);
    let done = queue.job(job_id).await;
    assert_eq!((done.status, done.attempts, done.worker_id), (Status::Done, 1, Some(claimed.fence.worker_id)));
    assert_eq!(done.result.unwrap().text(), "42");
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_job_of_a_transaction_that_is_rolled_back_was_never_there() {
    let mut queue = Queue::new().await;
    let transaction = queue.worker.transaction().await.unwrap();
    let lost = jobs::enqueue(&transaction, &plain().dedupe_key("k")).await.unwrap();
    transaction.rollback().await.unwrap();
    assert!(queue.claim(10).await.is_empty());
    assert_eq!(jobs::get(&queue.worker, lost.job_id).await.unwrap(), None);

    let transaction = queue.worker.transaction().await.unwrap();
    let kept = jobs::enqueue(&transaction, &plain().dedupe_key("k")).await.unwrap();
    transaction.commit().await.unwrap();
    assert!(kept.inserted);
    assert_eq!(queue.claim_one().await.fence.job_id, kept.job_id);
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_key_of_an_active_job_answers_with_that_job_and_is_free_once_it_ended() {
    let queue = Queue::new().await;
    let first = queue.enqueue(plain().dedupe_key("k")).await;
    let again = jobs::enqueue(&queue.worker, &plain().dedupe_key("k").priority(1)).await.unwrap();
    assert_eq!((again.job_id, again.inserted), (first, false));

    let claimed = queue.claim_one().await;
    let running = jobs::enqueue(&queue.worker, &plain().dedupe_key("k")).await.unwrap();
    assert_eq!((running.job_id, running.inserted), (first, false));
    assert_eq!(jobs::find_active(&queue.worker, "k").await.unwrap().unwrap().status, Status::Running);

    jobs::complete(&queue.worker, &claimed.fence, None).await.unwrap();
    assert_eq!(jobs::find_active(&queue.worker, "k").await.unwrap(), None);
    assert_eq!(jobs::find_latest(&queue.worker, "k").await.unwrap().unwrap().job_id, first);
    let second = queue.enqueue(plain().dedupe_key("k")).await;
    assert_eq!(jobs::find_latest(&queue.worker, "k").await.unwrap().unwrap().job_id, second);
    queue.check_invariants().await;
}

#[tokio::test]
async fn many_are_answered_each_on_its_own_in_the_order_given() {
    let queue = Queue::new().await;
    let active = queue.enqueue(plain().dedupe_key("b")).await;
    let many = [
        plain(),
        plain().dedupe_key("b"),
        plain().dedupe_key("a"),
        plain().delay(Duration::from_secs(60)),
        plain().dedupe_key("a"),
        plain().group_key("g"),
    ];
    let answers = jobs::enqueue_many(&queue.worker, &many).await.unwrap();
    assert_eq!(
        answers.iter().map(|answer| answer.inserted).collect::<Vec<_>>(),
        [true, false, true, true, false, true]
    );
    assert_eq!(answers[1].job_id, active);
    assert_eq!(answers[4].job_id, answers[2].job_id);
    for (answer, job) in answers.iter().zip(&many) {
        assert_eq!(queue.job(answer.job_id).await.dedupe_key, job.dedupe_key);
    }
    assert_eq!(jobs::enqueue_many(&queue.worker, &[]).await.unwrap(), []);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b06_a_nul_among_a_hundred_is_named_by_its_place_and_the_ninety_nine_can_be_sent() {
    let queue = Queue::new().await;
    for poison in [json!({"deep": [{"text": "canary\0"}]}), json!({"canary\0": 1}), json!("\0")] {
        let mut many: Vec<NewJob> = (0..100).map(|number| NewJob::new(JOB_TYPE, Queue::numbered(number))).collect();
        many[17].payload = poison;
        let refused = jobs::enqueue_many(&queue.worker, &many).await.expect_err("a NUL cannot be stored");
        let text = refused.to_string();
        assert!(text.starts_with("jobs[17].payload holds U+0000") && !text.contains("canary"), "{text}");
        assert_eq!(queue.count("SELECT count(*) FROM tidemark.job_body").await, 0, "nothing was sent");
        many.remove(17);
        assert!(jobs::enqueue_many(&queue.worker, &many).await.unwrap().iter().all(|answer| answer.inserted));
        queue.pipeline.run("TRUNCATE tidemark.job_body, tidemark.job_ready", &[]).await;
    }
    assert!(refusal(&queue, NewJob::new(JOB_TYPE, json!("\0"))).await.starts_with("job.payload holds U+0000"));
    // The text \u0000 with a backslash is no NUL.
    let text = json!({"escaped": "\\u0000"});
    let job_id = queue.enqueue(NewJob::new(JOB_TYPE, text.clone())).await;
    assert_eq!(queue.job(job_id).await.payload.value().unwrap(), text);
}

#[tokio::test]
async fn b09_payloads_and_keys_are_accepted_up_to_their_limit_and_refused_above_it() {
    let queue = Queue::new().await;
    let widest = NewJob::new(JOB_TYPE, json!("x".repeat(PAYLOAD_BYTES - 2)))
        .dedupe_key("é".repeat(250))
        .group_key("g".repeat(200));
    let job_id = queue.enqueue(widest).await;
    queue.claim(10).await;
    assert_eq!(queue.job(job_id).await.payload.text().len(), PAYLOAD_BYTES);
    assert_eq!(jobs::find_active(&queue.worker, &"é".repeat(250)).await.unwrap().unwrap().job_id, job_id);

    let long = |bytes: usize| "k".repeat(bytes);
    assert!(refusal(&queue, NewJob::new(JOB_TYPE, json!("x".repeat(PAYLOAD_BYTES - 1)))).await.contains("payload"));
    assert!(refusal(&queue, plain().dedupe_key(long(501))).await.contains("dedupe_key must have 1 to 500 bytes"));
    assert!(refusal(&queue, plain().dedupe_key(long(10_000))).await.contains("dedupe_key"));
    assert!(refusal(&queue, plain().group_key(long(201))).await.contains("group_key must have 1 to 200 bytes"));
    assert!(refusal(&queue, plain().priority(1_000_001)).await.contains("priority"));
    let too_many = vec![plain(); ENQUEUE_LIMIT + 1];
    assert!(matches!(jobs::enqueue_many(&queue.worker, &too_many).await, Err(Error::Invalid(_))));
    queue.check_invariants().await;
}

#[tokio::test]
async fn what_is_sent_by_sql_meets_the_same_limits() {
    let queue = Queue::new().await;
    let refused = [
        ("0", "'{}'", "NULL", "100", "0", "3", "NULL"),
        ("NULL", "'{}'", "NULL", "100", "0", "3", "NULL"),
        ("7", "NULL", "NULL", "100", "0", "3", "NULL"),
        ("7", "to_jsonb(repeat('x', 1048575))", "NULL", "100", "0", "3", "NULL"),
        // A few bytes each, a megabyte and more as text.
        (
            "7",
            "jsonb_build_array(1e131000::numeric, 1e131000::numeric, 1e131000::numeric, 1e131000::numeric, 1e131000::numeric, 1e131000::numeric, 1e131000::numeric, 1e131000::numeric, 1e131000::numeric)",
            "NULL",
            "100",
            "0",
            "3",
            "NULL",
        ),
        ("7", "'{}'", "''", "100", "0", "3", "NULL"),
        ("7", "'{}'", "repeat('k', 501)", "100", "0", "3", "NULL"),
        ("7", "'{}'", "NULL", "NULL", "0", "3", "NULL"),
        ("7", "'{}'", "NULL", "2147483647", "0", "3", "NULL"),
        ("7", "'{}'", "NULL", "100", "-1", "3", "NULL"),
        ("7", "'{}'", "NULL", "100", "'NaN'", "3", "NULL"),
        ("7", "'{}'", "NULL", "100", "'Infinity'", "3", "NULL"),
        ("7", "'{}'", "NULL", "100", "1e300", "3", "NULL"),
        ("7", "'{}'", "NULL", "100", "NULL", "3", "NULL"),
        ("7", "'{}'", "NULL", "100", "0", "0", "NULL"),
        ("7", "'{}'", "NULL", "100", "0", "101", "NULL"),
        ("7", "'{}'", "NULL", "100", "0", "3", "''"),
        ("7", "'{}'", "NULL", "100", "0", "3", "repeat('g', 201)"),
    ];
    for (job_type, payload, key, priority, delay, attempts, group) in refused {
        let statement = format!(
            "SELECT public.enqueue_job({job_type}, {payload}, {key}, {priority}, {delay}, {attempts}, {group})"
        );
        assert_eq!(crate::refusal(&queue.worker, &statement).await, "22023", "{statement}");
        let statement = format!(
            "SELECT tidemark.jobs_enqueue_v1(ARRAY[7, {job_type}], ARRAY['{{}}', {payload}]::jsonb[], ARRAY[NULL, {key}]::text[],
                ARRAY[100, {priority}], ARRAY[0, {delay}]::double precision[], ARRAY[3, {attempts}], ARRAY[NULL, {group}]::text[])"
        );
        assert_eq!(crate::refusal(&queue.worker, &statement).await, "22023", "{statement}");
    }
    assert_eq!(queue.count("SELECT count(*) FROM tidemark.job_body").await, 0);
    let row = queue.pipeline.one("SELECT inserted FROM public.enqueue_job(7)", &[]).await;
    assert!(row.get::<_, bool>(0));
}

#[tokio::test]
async fn a_payload_that_no_reader_can_decode_spoils_no_other_job_of_its_claim() {
    let queue = Queue::new().await;
    queue
        .pipeline
        .run("SELECT public.enqueue_job(7, '{\"huge\": 1e400}'), public.enqueue_job(7, '{\"fine\": 1}')", &[])
        .await;
    queue.pipeline.run("SELECT public.enqueue_job(7, (repeat('[', 300) || repeat(']', 300))::jsonb)", &[]).await;
    let claimed = queue.claim(10).await;
    let decoded: Vec<bool> = claimed.iter().map(|job| job.payload.value().is_ok()).collect();
    assert_eq!(decoded, [false, true, false]);
    let problem = claimed[0].payload.decode::<Value>().expect_err("a number too large").to_string();
    assert!(!problem.contains("huge"), "{problem}");
}

#[tokio::test]
async fn job_ids_are_uuids_of_version_7_in_the_order_of_time() {
    let queue = Queue::new().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(queue.enqueue(plain()).await);
        queue.pipeline.run("SELECT pg_sleep(0.002)", &[]).await;
    }
    assert!(ids.iter().all(|id: &Uuid| id.get_version_num() == 7));
    assert!(ids.is_sorted());
}
