//! Marks beside marks: whoever marks several users locks them in the order of their ids.

use tidemark_tests::Pipeline;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::{inside, saved_user, statuses};

/// Marks both users in the given order by one bulk statement.
async fn mark(session: &Client, users: [Uuid; 2], day: &str) {
    let statement = "INSERT INTO public.workouts (user_id, started_at, time_zone)
        SELECT listed.user_id, $2::text::timestamptz, 'UTC' FROM unnest($1::uuid[]) AS listed (user_id)";
    session.execute(statement, &[&users.to_vec(), &day]).await.unwrap();
}

#[tokio::test]
async fn two_marks_of_the_same_users_in_opposite_order_do_not_deadlock() {
    let pipeline = Pipeline::new().await;
    let mut users = [saved_user(&pipeline).await, saved_user(&pipeline).await];
    users.sort();
    let [low, high] = users;
    let row = format!("SELECT FROM public.user_stats_projection_state WHERE user_id = '{low}' FOR UPDATE");
    let gate = inside(&pipeline, &row).await;
    let (first, second) = (pipeline.database.admin().await, pipeline.database.admin().await);
    tokio::join!(mark(&first, [low, high], "2026-07-22"), mark(&second, [high, low], "2026-07-23"), async {
        pipeline.until_blocked("INSERT INTO public.workouts", 2).await;
        // Whoever waits for the first user holds nothing of the second.
        let free = "SELECT FROM public.user_stats_projection_state WHERE user_id = $1 FOR UPDATE NOWAIT";
        assert_eq!(pipeline.admin.query(free, &[&high]).await.unwrap().len(), 1);
        gate.batch_execute("COMMIT").await.unwrap();
    });
    for user in users {
        assert_eq!(statuses(&pipeline.jobs(user).await), ["pending"; 3]);
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn two_first_marks_of_the_same_new_users_do_not_deadlock() {
    let pipeline = Pipeline::new().await;
    let mut users = [Uuid::new_v4(), Uuid::new_v4()];
    users.sort();
    let [low, high] = users;
    let first = inside(&pipeline, "").await;
    let second = pipeline.database.admin().await;
    mark(&first, [high, low], "2026-07-22").await;
    tokio::join!(mark(&second, [low, high], "2026-07-23"), async {
        pipeline.until_blocked("INSERT INTO public.workouts", 1).await;
        first.batch_execute("COMMIT").await.unwrap();
    });
    for user in users {
        let jobs = pipeline.jobs(user).await;
        assert_eq!(statuses(&jobs), ["pending"; 2]);
        assert_eq!(jobs[1].generation, pipeline.generations(user).await.0);
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_mark_that_waits_for_one_that_is_rolled_back_stands_alone() {
    let pipeline = Pipeline::new().await;
    let users = [Uuid::new_v4(), Uuid::new_v4()];
    let first = inside(&pipeline, "").await;
    let second = pipeline.database.admin().await;
    mark(&first, users, "2026-07-22").await;
    tokio::join!(mark(&second, users, "2026-07-23"), async {
        pipeline.until_blocked("INSERT INTO public.workouts", 1).await;
        first.batch_execute("ROLLBACK").await.unwrap();
    });
    for user in users {
        assert_eq!(statuses(&pipeline.jobs(user).await), ["pending"]);
    }
    pipeline.check_invariants().await;
}
