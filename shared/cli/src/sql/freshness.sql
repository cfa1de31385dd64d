-- Who is not fresh among the given users (all where null): still on the way, or out of attempts, with the error of one of
-- these. Of those on the way: the paused functions without which somebody does not arrive. A step under way ends although its
-- function is paused, and an expired lease is recovered by claim.
WITH stale AS MATERIALIZED (
    SELECT failed.error_code,
        failed.error_code IS NOT NULL AND state.pending_generation IS NULL AND state.live_run_id IS NULL AS is_exhausted,
        CASE WHEN run.lease_expires_at > pg_catalog.clock_timestamp() THEN run.phase ELSE 'waiting' END AS phase
    FROM public.user_stats_projection_state AS state
    LEFT JOIN public.user_stats_projection_runs AS run ON run.id = state.live_run_id
    LEFT JOIN LATERAL (
        SELECT job.error_code
        FROM public.user_exercise_stats_refresh_jobs AS job
        WHERE job.user_id = state.user_id AND job.status = 'failed' AND job.absorbed_into_job_id IS NULL
        ORDER BY job.generation DESC
        LIMIT 1
    ) AS failed ON true
    WHERE state.requested_generation > state.applied_generation
        AND ($1::uuid[] IS NULL OR state.user_id = ANY ($1))
)
SELECT
    (SELECT pg_catalog.count(*) FROM stale WHERE NOT stale.is_exhausted),
    (SELECT pg_catalog.count(*) FROM stale WHERE stale.is_exhausted),
    (SELECT pg_catalog.max(stale.error_code) FROM stale WHERE stale.is_exhausted),
    ARRAY(
        SELECT switch.name
        FROM public.stats_projection_worker_settings AS settings
        CROSS JOIN LATERAL (VALUES
            (1, 'claim', settings.claim_enabled, ARRAY['waiting']),
            (2, 'compute', settings.compute_enabled, ARRAY['waiting', 'claimed']),
            (3, 'publish', settings.publish_enabled, ARRAY['waiting', 'claimed', 'computing', 'computed'])
        ) AS switch (place, name, is_on, needed_from)
        WHERE NOT switch.is_on
            AND EXISTS (SELECT FROM stale WHERE NOT stale.is_exhausted AND stale.phase = ANY (switch.needed_from))
        ORDER BY switch.place
    )
