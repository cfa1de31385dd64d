//! What must hold after every test, each as one query that lists the violations.

use tokio_postgres::Client;

/// Name and query of each invariant that the rows alone can show. Every query returns one text per violation.
pub const INVARIANTS: &[(&str, &str)] = &[
    (
        "I1: at most one live lease per user",
        "SELECT run.user_id::text FROM public.user_stats_projection_runs AS run
         WHERE run.phase IN ('claimed', 'computing', 'computed', 'publishing')
         GROUP BY run.user_id HAVING count(*) > 1",
    ),
    (
        "I1: the state row knows the live run",
        "SELECT state.user_id::text FROM public.user_stats_projection_state AS state
         LEFT JOIN public.user_stats_projection_runs AS run
            ON run.user_id = state.user_id AND run.phase IN ('claimed', 'computing', 'computed', 'publishing')
         WHERE state.live_run_id IS DISTINCT FROM run.id",
    ),
    (
        "I2: no token is granted twice",
        "SELECT run.lease_token::text FROM public.user_stats_projection_runs AS run GROUP BY run.lease_token HAVING count(*) > 1",
    ),
    (
        "I2: nothing is applied that was not requested",
        "SELECT state.user_id::text FROM public.user_stats_projection_state AS state
         WHERE state.applied_generation > state.requested_generation",
    ),
    (
        "I2: what is published carries no generation above the applied one",
        "SELECT published.user_id::text FROM (
            SELECT user_id, generation FROM public.user_exercise_stats
            UNION ALL SELECT user_id, generation FROM public.user_exercise_rep_maxes
            UNION ALL SELECT user_id, generation FROM public.user_exercise_stats_weekly
            UNION ALL SELECT user_id, generation FROM public.user_stats_summary
         ) AS published
         JOIN public.user_stats_projection_state AS state ON state.user_id = published.user_id
         WHERE published.generation > state.applied_generation",
    ),
    (
        "I4: a generation of a user is published once",
        "SELECT run.user_id::text FROM public.user_stats_projection_runs AS run
         WHERE run.phase = 'published' GROUP BY run.user_id, run.generation HAVING count(*) > 1",
    ),
    (
        "I5: whoever is stale has a job that waits, runs or has failed",
        "SELECT state.user_id::text FROM public.user_stats_projection_state AS state
         WHERE state.requested_generation > state.applied_generation
            AND NOT EXISTS (
                SELECT FROM public.user_exercise_stats_refresh_jobs AS job
                WHERE job.user_id = state.user_id AND job.status IN ('pending', 'running', 'failed')
                    AND job.generation > state.applied_generation
            )",
    ),
    (
        "I5: a dirty mark above the applied generation belongs to somebody stale",
        "SELECT dirty.user_id::text FROM public.user_exercise_stats_dirty AS dirty
         JOIN public.user_stats_projection_state AS state ON state.user_id = dirty.user_id
         WHERE dirty.generation <= state.applied_generation OR dirty.generation > state.requested_generation",
    ),
    (
        "the claim order follows the pending jobs",
        "SELECT state.user_id::text FROM public.user_stats_projection_state AS state
         WHERE state.pending_generation IS DISTINCT FROM (
            SELECT min(job.generation) FROM public.user_exercise_stats_refresh_jobs AS job
            WHERE job.user_id = state.user_id AND job.status = 'pending')",
    ),
    (
        "I7: live leases within max_active",
        "SELECT count(*)::text FROM public.user_stats_projection_runs AS run
         WHERE run.phase IN ('claimed', 'computing', 'computed', 'publishing')
         HAVING count(*) > (SELECT max_active FROM public.stats_projection_worker_settings)",
    ),
    (
        "I7: attempts within max_attempts",
        "SELECT job.id::text FROM public.user_exercise_stats_refresh_jobs AS job
         WHERE job.attempts > (SELECT max_attempts FROM public.stats_projection_worker_settings)",
    ),
    (
        "the tally agrees with the rows",
        "SELECT 'pending jobs ' || tally.pending_jobs || ', users ' || tally.pending_users || ', stale ' || tally.stale_users
         FROM (
            SELECT coalesce(sum(pending_jobs), 0) AS pending_jobs, coalesce(sum(pending_users), 0) AS pending_users,
                coalesce(sum(stale_users), 0) AS stale_users
            FROM tidemark.queue_tally
         ) AS tally
         WHERE (tally.pending_jobs, tally.pending_users, tally.stale_users) IS DISTINCT FROM (
            (SELECT count(*) FROM public.user_exercise_stats_refresh_jobs WHERE status = 'pending'),
            (SELECT count(*) FROM public.user_stats_projection_state WHERE pending_generation IS NOT NULL),
            (SELECT count(*) FROM public.user_stats_projection_state WHERE requested_generation > applied_generation)
         )",
    ),
    (
        "a running job has its live run",
        "SELECT job.id::text FROM public.user_exercise_stats_refresh_jobs AS job
         WHERE job.status = 'running' AND NOT EXISTS (
            SELECT FROM public.user_stats_projection_runs AS run
            WHERE run.job_id = job.id AND run.phase IN ('claimed', 'computing', 'computed', 'publishing'))",
    ),
    (
        "a staged result belongs to a run that is about to be published",
        "SELECT staged.run_id::text FROM tidemark.staged_results AS staged
         JOIN public.user_stats_projection_runs AS run ON run.id = staged.run_id
         WHERE run.phase NOT IN ('computed', 'publishing')",
    ),
];

/// Every violation found, as `invariant: what`. Empty where all hold. `client` must be allowed to read every table.
///
/// # Panics
/// When a query cannot be run.
pub async fn violations(client: &Client) -> Vec<String> {
    let mut found = Vec::new();
    for (name, query) in INVARIANTS {
        let rows = client.query(*query, &[]).await.expect("the invariant's query runs");
        for row in rows {
            let what: Option<String> = row.get(0);
            found.push(format!("{name}: {}", what.unwrap_or_default()));
        }
    }
    found
}
