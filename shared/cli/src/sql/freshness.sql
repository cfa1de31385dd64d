-- Who is not fresh among the given users (all where null): still on the way, or out of attempts.
SELECT
    count(*) FILTER (WHERE failed.error_code IS NULL OR state.pending_generation IS NOT NULL OR state.live_run_id IS NOT NULL),
    count(*) FILTER (WHERE failed.error_code IS NOT NULL AND state.pending_generation IS NULL AND state.live_run_id IS NULL),
    max(failed.error_code) FILTER (WHERE state.pending_generation IS NULL AND state.live_run_id IS NULL)
FROM public.user_stats_projection_state AS state
LEFT JOIN LATERAL (
    SELECT job.error_code
    FROM public.user_exercise_stats_refresh_jobs AS job
    WHERE job.user_id = state.user_id AND job.status = 'failed' AND job.absorbed_into_job_id IS NULL
    ORDER BY job.generation DESC
    LIMIT 1
) AS failed ON true
WHERE state.requested_generation > state.applied_generation
    AND ($1::uuid[] IS NULL OR state.user_id = ANY ($1))
