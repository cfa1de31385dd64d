-- Who among the given users has nothing to refresh: nothing was ever logged of them.
SELECT listed.user_id
FROM pg_catalog.unnest($1::uuid[]) AS listed (user_id)
WHERE NOT EXISTS (SELECT FROM public.user_stats_projection_state AS state WHERE state.user_id = listed.user_id)
ORDER BY listed.user_id
