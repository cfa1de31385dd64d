INSERT INTO public.user_exercise_stats_refresh_jobs (user_id, generation)
SELECT ('00000000-0000-4000-8000-' || lpad((number % 100000)::text, 12, '0'))::uuid, nextval('tidemark.generation')
FROM generate_series(1, $1) AS number;
WITH finished AS (
    INSERT INTO public.user_exercise_stats_refresh_jobs (user_id, generation, status)
    SELECT '00000000-0000-4000-b000-000000000001', 1, 'done'
    WHERE $1 > 0
    RETURNING id, user_id
)
INSERT INTO public.user_stats_projection_runs
    (user_id, job_id, attempt, generation, phase, lease_expires_at, compute_ms, publish_ms, published_at)
SELECT finished.user_id, finished.id, 1, number, 'published', clock_timestamp(), number % 50, number % 9,
    clock_timestamp() - make_interval(secs => number * 36000.0 / $1)
FROM finished
CROSS JOIN generate_series(1, $1) AS number
