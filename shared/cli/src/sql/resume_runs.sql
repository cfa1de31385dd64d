UPDATE public.user_stats_projection_runs
SET retry_not_before = NULL
WHERE user_id = ANY ($1) AND phase = 'failed'
