-- How many users there are.
SELECT count(*) FROM public.user_stats_projection_state
