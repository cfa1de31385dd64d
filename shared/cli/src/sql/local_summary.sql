-- What is published of one user, as `tidemark local` tells it.
SELECT
    state.requested_generation > state.applied_generation AS stale,
    coalesce(summary.workouts, 0) AS workouts,
    coalesce(summary.training_days, 0) AS training_days,
    coalesce(summary.exercises, 0) AS exercises,
    (
        SELECT coalesce(sum(stats.working_set_rows + stats.warmup_sets), 0)
        FROM public.user_exercise_stats AS stats
        WHERE stats.user_id = state.user_id
    ) AS sets,
    coalesce(summary.working_volume_kg, 0) AS working_volume_kg,
    coalesce(summary.total_volume_kg, 0) AS total_volume_kg,
    coalesce(summary.effective_volume_kg, 0) AS effective_volume_kg,
    (
        SELECT count(*)
        FROM public.user_stats_projection_runs AS run
        WHERE run.user_id = state.user_id AND run.phase = 'published'
    ) AS refreshes
FROM public.user_stats_projection_state AS state
LEFT JOIN public.user_stats_summary AS summary ON summary.user_id = state.user_id
WHERE state.user_id = $1
