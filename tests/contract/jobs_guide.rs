//! The SQL of the guide does what the guide says.

use tidemark_queue::jobs;
use tidemark_tests::jobs::Queue;

#[tokio::test]
async fn the_sql_of_the_guide_is_accepted_and_enqueues_as_the_applications_role() {
    let queue = Queue::new().await;
    let guide = include_str!("../../docs/JOBS.md");
    let blocks: Vec<&str> = guide.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 3);
    let application = queue.pipeline.database.connect_as("service_role").await;
    application.batch_execute(blocks[0]).await.unwrap();
    assert_eq!(jobs::counts(&queue.worker).await.unwrap().pending, 2);
    queue.pipeline.admin.batch_execute(blocks[1]).await.unwrap();
    // One of the kinds that each update is about.
    let claimed = queue.claim(1).await;
    jobs::fail_permanent(&queue.worker, &claimed[0].fence, "x", "x").await.unwrap();
    queue.pipeline.admin.batch_execute(blocks[2]).await.unwrap();
    let moved = queue.count("SELECT count(*) FROM public.jobs WHERE priority = 10 AND status = 1").await;
    assert_eq!(moved, 1, "the delayed job is due at once");
    assert_eq!(queue.count("SELECT count(*) FROM public.jobs WHERE error_code = 'cancelled'").await, 1);
    assert_eq!(queue.claim(10).await.len(), 1);
    queue.check_invariants().await;
}
