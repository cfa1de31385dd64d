//! What operators do: requeue, cancel, the documented updates of `public.jobs`, and the figures.

use std::time::Duration;

use serde_json::json;
use tidemark_queue::jobs::{self, Cancelled, Ended, NewJob, Renewal, Requeued, Status};
use tidemark_tests::jobs::{Queue, plain};
use uuid::Uuid;

/// A dead job.
async fn dead(queue: &Queue, job: NewJob) -> Uuid {
    let job_id = queue.enqueue(job.priority(-5)).await;
    let claimed = queue.claim_one().await;
    assert_eq!(claimed.fence.job_id, job_id);
    assert_eq!(jobs::fail_permanent(&queue.worker, &claimed.fence, "x", "x").await.unwrap(), Ended::Dead);
    job_id
}

#[tokio::test]
async fn a_requeued_job_waits_with_all_its_attempts_and_the_alert_is_resolved_with_the_last() {
    let queue = Queue::new().await;
    let first = dead(&queue, plain().dedupe_key("a")).await;
    let second = dead(&queue, plain()).await;
    let open = "SELECT count(*) FROM public.alert_outbox WHERE kind = 'job_dead' AND resolved_at IS NULL";
    assert_eq!(jobs::requeue(&queue.worker, &[first]).await.unwrap(), [Requeued::Pending]);
    assert_eq!(queue.count(open).await, 1);
    assert_eq!(jobs::requeue(&queue.worker, &[second]).await.unwrap(), [Requeued::Pending]);
    assert_eq!(queue.count(open).await, 0);
    let job = queue.job(first).await;
    assert_eq!((job.status, job.attempts), (Status::Pending, 0));
    assert_eq!(queue.claim_one().await.fence.attempt, 1);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b14_each_job_of_a_bulk_requeue_is_answered_on_its_own() {
    let queue = Queue::new().await;
    let twin_of = dead(&queue, plain().dedupe_key("k")).await;
    let other_dead = dead(&queue, plain().dedupe_key("k")).await;
    let fine = dead(&queue, plain()).await;
    let active = queue.enqueue(plain().dedupe_key("k")).await;
    let unknown = Uuid::new_v4();
    let answers = jobs::requeue(&queue.worker, &[unknown, twin_of, fine, active, other_dead, fine]).await.unwrap();
    let twin = Requeued::Twin { active };
    assert_eq!(answers, [Requeued::NotDead, twin, Requeued::Pending, Requeued::NotDead, twin, Requeued::Pending]);
    assert_eq!(queue.status(twin_of).await, Status::Dead);

    // Of two dead ones with one key the first takes it.
    jobs::cancel(&queue.worker, active).await.unwrap();
    let answers = jobs::requeue(&queue.worker, &[twin_of, other_dead]).await.unwrap();
    assert_eq!(answers.iter().filter(|answer| **answer == Requeued::Pending).count(), 1, "{answers:?}");
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_waiting_job_is_cancelled_at_once_wherever_it_waits() {
    let queue = Queue::new().await;
    let ready = queue.enqueue(plain().dedupe_key("a")).await;
    let delayed = queue.enqueue(plain().dedupe_key("b").delay(Duration::from_secs(60))).await;
    let grouped = queue.enqueue(plain().dedupe_key("c").group_key("g")).await;
    let running_mate = queue.enqueue(plain().group_key("g").priority(1)).await;
    // Sorts the grouped ones into their group.
    queue.pipeline.run("INSERT INTO public.job_limits (job_type, group_concurrency) VALUES (1000, 1)", &[]).await;
    while queue.status(running_mate).await != Status::Running {
        for job in queue.claim(1).await {
            if job.fence.job_id != running_mate {
                jobs::release(&queue.worker, &job.fence).await.unwrap();
            }
        }
    }
    for job_id in [ready, delayed, grouped] {
        assert_eq!(jobs::cancel(&queue.worker, job_id).await.unwrap(), Cancelled::Dead);
        let job = queue.job(job_id).await;
        assert_eq!((job.status, job.error_code.as_deref()), (Status::Dead, Some("cancelled")));
        assert_eq!(jobs::cancel(&queue.worker, job_id).await.unwrap(), Cancelled::Finished);
        assert_eq!(jobs::find_active(&queue.worker, job.dedupe_key.as_deref().unwrap()).await.unwrap(), None);
    }
    assert_eq!(jobs::cancel(&queue.worker, Uuid::new_v4()).await.unwrap(), Cancelled::Unknown);
    assert_eq!(queue.count("SELECT count(*) FROM public.alert_outbox").await, 0);
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_running_job_learns_of_its_cancelling_at_the_next_renewal_and_is_not_retried() {
    for last_attempt in [false, true] {
        let queue = Queue::new().await;
        let job_id = queue.enqueue(plain().max_attempts(if last_attempt { 1 } else { 3 })).await;
        let fence = queue.claim_one().await.fence;
        assert_eq!(jobs::cancel(&queue.worker, job_id).await.unwrap(), Cancelled::Requested);
        assert!(queue.job(job_id).await.cancel_requested);
        let renewed = jobs::renew_lease(&queue.worker, fence.worker_id, &[fence], None).await.unwrap();
        assert!(matches!(renewed.as_slice(), [Renewal::Until { cancel_requested: true, .. }]), "{renewed:?}");
        assert_eq!(jobs::fail(&queue.worker, &fence, "x", "stopped").await.unwrap(), Ended::Dead);
        let job = queue.job(job_id).await;
        assert_eq!((job.status, job.error_code.as_deref()), (Status::Dead, Some("cancelled")));
        assert_eq!(queue.count("SELECT count(*) FROM public.alert_outbox").await, 0);

        // Another life begins without the request.
        assert_eq!(jobs::requeue(&queue.worker, &[job_id]).await.unwrap(), [Requeued::Pending]);
        assert!(!queue.job(job_id).await.cancel_requested);
        let fence = queue.claim_one().await.fence;
        assert_eq!(jobs::complete(&queue.worker, &fence, None).await.unwrap(), Ended::Done);
        queue.check_invariants().await;
    }
}

#[tokio::test]
async fn a_job_that_finishes_before_it_sees_its_cancelling_is_done() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain()).await;
    let fence = queue.claim_one().await.fence;
    jobs::cancel(&queue.worker, job_id).await.unwrap();
    assert_eq!(jobs::complete(&queue.worker, &fence, Some(json!(1))).await.unwrap(), Ended::Done);
    queue.check_invariants().await;
}

#[tokio::test]
async fn updating_the_status_requeues_and_cancels() {
    let queue = Queue::new().await;
    let job_id = dead(&queue, plain().dedupe_key("k")).await;
    let update = "UPDATE public.jobs SET status = 1, attempts = 0 WHERE job_id = $1";
    assert_eq!(queue.pipeline.run(update, &[&job_id]).await, 1);
    assert_eq!(queue.status(job_id).await, Status::Pending);
    let cancel = "UPDATE public.jobs SET status = 4 WHERE job_id = $1";
    assert_eq!(queue.pipeline.run(cancel, &[&job_id]).await, 1);
    assert_eq!(queue.job(job_id).await.error_code.as_deref(), Some("cancelled"));

    let twin = queue.enqueue(plain().dedupe_key("k")).await;
    let refused = queue.pipeline.admin.execute(update, &[&job_id]).await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "23505");
    queue.claim(1).await;
    assert_eq!(queue.pipeline.run(cancel, &[&twin]).await, 1);
    assert!(queue.job(twin).await.cancel_requested);
    queue.check_invariants().await;
}

#[tokio::test]
async fn updating_priority_and_time_moves_a_pending_job() {
    let queue = Queue::new().await;
    let first = queue.enqueue(plain()).await;
    let second = queue.enqueue(plain()).await;
    let grouped = queue.enqueue(plain().group_key("g")).await;
    queue.pipeline.run("UPDATE public.jobs SET priority = 1 WHERE job_id = $1", &[&second]).await;
    assert_eq!(queue.job(second).await.priority, 1);
    queue
        .pipeline
        .run(
            "UPDATE public.jobs SET run_after = clock_timestamp() + interval '1 hour', priority = 7 WHERE job_id = $1",
            &[&grouped],
        )
        .await;
    assert_eq!(queue.drained(5).await, [second, first]);
    queue.pipeline.run("UPDATE public.jobs SET run_after = clock_timestamp() WHERE job_id = $1", &[&grouped]).await;
    assert_eq!(queue.claim_one().await.priority, 7);
    queue.check_invariants().await;

    let error = queue
        .pipeline
        .admin
        .execute("UPDATE public.jobs SET priority = 1 WHERE job_id = $1", &[&first])
        .await
        .unwrap_err();
    assert_eq!(error.code().unwrap().code(), "55000", "it runs");
    let waiting = queue.enqueue(plain()).await;
    for change in ["priority = 2000000", "run_after = 'infinity'", "run_after = clock_timestamp() + interval '2 years'"]
    {
        let statement = format!("UPDATE public.jobs SET {change} WHERE job_id = '{waiting}'");
        assert_eq!(crate::refusal(&queue.pipeline.admin, &statement).await, "22023", "{change}");
    }
    queue.check_invariants().await;
}

#[tokio::test]
async fn other_updates_are_refused_and_never_ignored() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain()).await;
    let before = queue.job(job_id).await;
    for change in [
        "status = 3",
        "status = 2",
        "attempts = 2",
        "attempts = 0, status = 3",
        "payload = '{\"a\": 1}'",
        "job_type = 5",
        "dedupe_key = 'x'",
        "group_key = 'x'",
        "max_attempts = 9",
        "worker_id = gen_random_uuid()",
        "lease_until = clock_timestamp()",
        "result = '1'",
        "progress = '1'",
        "last_error = 'x'",
        "error_code = 'x'",
        "cancel_requested = true",
        "created_at = clock_timestamp()",
        "run_started_at = clock_timestamp()",
        "job_id = gen_random_uuid()",
        "updated_at = clock_timestamp()",
    ] {
        let statement = format!("UPDATE public.jobs SET {change} WHERE job_id = '{job_id}'");
        assert_eq!(crate::refusal(&queue.pipeline.admin, &statement).await, "0A000", "{change}");
    }
    assert_eq!(queue.job(job_id).await, before);
    queue.check_invariants().await;
}

#[tokio::test]
async fn the_figures_follow_the_rows() {
    let queue = Queue::new().await;
    let empty = jobs::ops(&queue.worker).await.unwrap();
    assert_eq!((empty.counts.pending, empty.oldest_pending_seconds, empty.counts.exact), (0, 0, true));

    dead(&queue, plain()).await;
    let late = queue.enqueue(plain().priority(-1)).await;
    let fence = queue.claim_one().await.fence;
    assert_eq!(fence.job_id, late);
    jobs::fail_permanent(&queue.worker, &fence, "deadline_exceeded", "x").await.unwrap();
    queue.enqueue(plain()).await;
    let fence = queue.claim_one().await.fence;
    jobs::complete(&queue.worker, &fence, None).await.unwrap();
    queue.enqueue(plain().delay(Duration::from_secs(60))).await;
    queue.enqueue(plain()).await;
    let stuck = queue.claim_one().await;
    let waiting = queue.enqueue(plain()).await;
    queue.let_wait(waiting, 40.0).await;

    let ops = jobs::ops(&queue.worker).await.unwrap();
    assert_eq!(
        (ops.counts.pending, ops.scheduled, ops.counts.running, ops.counts.done, ops.counts.dead),
        (2, 1, 1, 1, 2)
    );
    assert_eq!((ops.dead_last_hour, ops.deadline_exceeded_last_hour), (2, 1));
    assert!((40..50).contains(&ops.oldest_pending_seconds), "{}", ops.oldest_pending_seconds);
    assert_eq!((ops.stuck, ops.leases, ops.expired_unrecovered), (0, 1, 0));
    assert_eq!(jobs::counts(&queue.worker).await.unwrap(), ops.counts);

    // Renewed, and still it runs for more than ten minutes.
    queue.pipeline.run("UPDATE tidemark.job_lease SET claimed_at = claimed_at - interval '11 minutes'", &[]).await;
    assert_eq!(jobs::ops(&queue.worker).await.unwrap().stuck, 1);
    queue.expire_leases().await;
    let ops = jobs::ops(&queue.worker).await.unwrap();
    assert_eq!((ops.stuck, ops.leases, ops.expired_unrecovered), (1, 0, 1));
    assert_eq!(stuck.fence.attempt, 1);
}
