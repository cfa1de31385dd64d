SELECT state.user_id FROM public.user_stats_projection_state AS state ORDER BY state.user_id LIMIT 100
