-- The next users after $1, in the order of their ids; returns how many, and the last of them (NULL: there were none).
WITH batch AS MATERIALIZED (
    SELECT state.user_id
    FROM public.user_stats_projection_state AS state
    WHERE $1::uuid IS NULL OR state.user_id > $1::uuid
    ORDER BY state.user_id
    LIMIT $3
), listed AS MATERIALIZED (
    SELECT pg_catalog.array_agg(batch.user_id ORDER BY batch.user_id) AS user_ids
    FROM batch
)
SELECT public.request_stats_refresh(listed.user_ids, $2), listed.user_ids[pg_catalog.cardinality(listed.user_ids)]
FROM listed
