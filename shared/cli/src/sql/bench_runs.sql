SELECT run.compute_ms, run.publish_ms
FROM public.user_stats_projection_runs AS run
WHERE run.user_id = $1 AND run.phase = 'published'
ORDER BY run.id DESC
LIMIT 1
