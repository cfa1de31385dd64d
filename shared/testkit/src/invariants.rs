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
            UNION ALL SELECT user_id, generation FROM public.user_muscle_stats_weekly
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

/// The same for the general queue.
pub const JOB_INVARIANTS: &[(&str, &str)] = &[
    (
        "a job is in exactly one place",
        "WITH places AS (
            SELECT job_id, 'ready' AS place FROM tidemark.job_ready
            UNION ALL SELECT job_id, 'scheduled' FROM tidemark.job_scheduled
            UNION ALL SELECT job_id, 'grouped' FROM tidemark.job_grouped
            UNION ALL SELECT unnest(job_ids), 'leased' FROM tidemark.job_lease
            UNION ALL SELECT job_id, 'finished' FROM tidemark.job_finished
         )
         SELECT coalesce(body.job_id, places.job_id) || ' ' || coalesce(string_agg(places.place, ', '), 'nowhere')
         FROM tidemark.job_body AS body FULL JOIN places ON places.job_id = body.job_id
         GROUP BY body.job_id, places.job_id HAVING body.job_id IS NULL OR count(places.place) <> 1",
    ),
    (
        "a waiting job stands where its body says",
        "SELECT body.job_id::text FROM tidemark.job_body AS body JOIN (
            SELECT job_id, job_type, priority, CASE WHEN rank < 0 THEN rank + 4611686018427387904 ELSE rank END AS position, NULL AS group_key
            FROM tidemark.job_ready
            UNION ALL SELECT job_id, job_type, priority, position, group_key FROM tidemark.job_grouped
            UNION ALL SELECT job_id, job_type, priority, position, group_key FROM tidemark.job_scheduled
         ) AS waiting ON waiting.job_id = body.job_id
         WHERE (waiting.job_type, waiting.priority, waiting.position, waiting.group_key)
            IS DISTINCT FROM (body.job_type, body.priority, body.position, body.group_key)",
    ),
    (
        "keys are held exactly by active jobs",
        "SELECT coalesce(body.job_id, job_key.job_id)::text
         FROM (
            SELECT body.job_id, body.dedupe_key FROM tidemark.job_body AS body
            WHERE body.dedupe_key IS NOT NULL AND NOT EXISTS (SELECT FROM tidemark.job_finished AS finished WHERE finished.job_id = body.job_id)
         ) AS body
         FULL JOIN tidemark.job_key AS job_key ON job_key.job_id = body.job_id AND job_key.dedupe_key = body.dedupe_key
         WHERE body.job_id IS NULL OR job_key.job_id IS NULL",
    ),
    (
        "a group knows how many of its jobs run",
        "SELECT coalesce(running.group_key, job_group.group_key) || ': ' || coalesce(running.number, 0) || ' run, known ' || coalesce(job_group.running, 0)
         FROM (
            SELECT body.job_type, body.group_key, count(*) AS number
            FROM (SELECT unnest(job_ids) AS job_id FROM tidemark.job_lease) AS leased JOIN tidemark.job_body AS body USING (job_id)
            WHERE body.group_key IS NOT NULL GROUP BY body.job_type, body.group_key
         ) AS running
         FULL JOIN tidemark.job_group AS job_group ON job_group.job_type = running.job_type AND job_group.group_key = running.group_key
         WHERE coalesce(running.number, 0) <> coalesce(job_group.running, 0)",
    ),
    (
        "a group with waiting jobs says so, with the priority of the first",
        "SELECT head.group_key FROM (
            SELECT job_type, group_key, min(priority) AS priority FROM tidemark.job_grouped GROUP BY job_type, group_key
         ) AS head
         LEFT JOIN tidemark.job_group AS job_group ON job_group.job_type = head.job_type AND job_group.group_key = head.group_key
         WHERE job_group.waiting IS DISTINCT FROM true OR job_group.head_priority > head.priority",
    ),
    (
        "I7: attempts of jobs within their number, and a running one is charged",
        "SELECT body.job_id::text FROM tidemark.job_body AS body JOIN (
            SELECT job_id, attempts, 0 AS least, 1 AS left_over FROM tidemark.job_ready
            UNION ALL SELECT job_id, attempts, 0, 1 FROM tidemark.job_scheduled
            UNION ALL SELECT job_id, attempts, 0, 1 FROM tidemark.job_grouped
            UNION ALL SELECT member.job_id, member.attempts, 1, 0
                FROM tidemark.job_lease AS lease CROSS JOIN LATERAL unnest(lease.job_ids, lease.attempts) AS member (job_id, attempts)
            UNION ALL SELECT job_id, attempts, 0, 0 FROM tidemark.job_finished
         ) AS charged ON charged.job_id = body.job_id
         WHERE charged.attempts < charged.least OR charged.attempts > body.max_attempts - charged.left_over",
    ),
    (
        "a lease holds each of its jobs once, with an attempt, and has begun only its own",
        "SELECT lease.lease_id::text FROM tidemark.job_lease AS lease
         WHERE cardinality(lease.job_ids) = 0 OR cardinality(lease.job_ids) <> cardinality(lease.attempts)
            OR NOT coalesce(lease.started, '{}') <@ lease.job_ids
            OR cardinality(lease.job_ids) <> (SELECT count(DISTINCT member) FROM unnest(lease.job_ids) AS member)",
    ),
    (
        "notes are about jobs that are not finished",
        "SELECT note.job_id::text FROM tidemark.job_note AS note
         WHERE NOT EXISTS (SELECT FROM tidemark.job_body AS body WHERE body.job_id = note.job_id)
            OR EXISTS (SELECT FROM tidemark.job_finished AS finished WHERE finished.job_id = note.job_id)",
    ),
    (
        "no fresh job is below the proven floor of its lane",
        "SELECT ready.job_id::text FROM tidemark.job_ready AS ready
         JOIN tidemark.job_lane AS lane ON lane.job_type = ready.job_type AND lane.priority = ready.priority
         WHERE ready.rank >= 0 AND ready.rank < lane.floor",
    ),
];

/// Every violation found, as `invariant: what`. Empty where all hold. `client` must be allowed to read every table.
///
/// # Panics
/// When a query cannot be run.
pub async fn violations(client: &Client) -> Vec<String> {
    let mut found = violations_of(INVARIANTS, client).await;
    found.extend(violations_of(JOB_INVARIANTS, client).await);
    found
}

/// Every violation of these invariants.
///
/// # Panics
/// When a query cannot be run.
pub async fn violations_of(invariants: &[(&str, &str)], client: &Client) -> Vec<String> {
    let mut found = Vec::new();
    for (name, query) in invariants {
        let rows = client.query(*query, &[]).await.expect("the invariant's query runs");
        for row in rows {
            let what: Option<String> = row.get(0);
            found.push(format!("{name}: {}", what.unwrap_or_default()));
        }
    }
    found
}
