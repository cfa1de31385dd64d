SELECT public.request_stats_refresh($1, $2)
