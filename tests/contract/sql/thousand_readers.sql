-- A thousand users with what the first one has published, for 20 exercises and 20 weeks. Marking is off: nobody refreshes them.
SET session_replication_role = replica;
INSERT INTO public.user_stats_projection_state (user_id, requested_generation, applied_generation, requested_at, applied_at)
SELECT md5('reader' || number)::uuid, 1, 1, now(), now() FROM generate_series(1, 1000) AS number;
INSERT INTO public.training_profiles (user_id) SELECT md5('reader' || number)::uuid FROM generate_series(1, 1000) AS number;
INSERT INTO public.user_stats_summary
SELECT (jsonb_populate_record(template, jsonb_build_object('user_id', md5('reader' || number)::uuid))).*
FROM (SELECT summary AS template FROM public.user_stats_summary AS summary LIMIT 1) AS first
CROSS JOIN generate_series(1, 1000) AS number;
INSERT INTO public.user_exercise_stats
SELECT (jsonb_populate_record(template, jsonb_build_object(
    'user_id', md5('reader' || number)::uuid, 'exercise_id', md5('exercise' || exercise)::uuid))).*
FROM (SELECT stats AS template FROM public.user_exercise_stats AS stats LIMIT 1) AS first
CROSS JOIN generate_series(1, 1000) AS number
CROSS JOIN generate_series(1, 20) AS exercise;
INSERT INTO public.user_exercise_stats_weekly
SELECT (jsonb_populate_record(template, jsonb_build_object(
    'user_id', md5('reader' || number)::uuid, 'exercise_id', md5('exercise' || exercise)::uuid,
    'week_start', date '2026-12-07' - week * 7))).*
FROM (SELECT weekly AS template FROM public.user_exercise_stats_weekly AS weekly LIMIT 1) AS first
CROSS JOIN generate_series(1, 1000) AS number
CROSS JOIN generate_series(1, 5) AS exercise
CROSS JOIN generate_series(0, 19) AS week;
INSERT INTO public.user_muscle_stats_weekly
SELECT (jsonb_populate_record(template, jsonb_build_object(
    'user_id', md5('reader' || number)::uuid, 'muscle', 'muscle ' || muscle, 'week_start', date '2026-12-07' - week * 7))).*
FROM (SELECT weekly AS template FROM public.user_muscle_stats_weekly AS weekly LIMIT 1) AS first
CROSS JOIN generate_series(1, 1000) AS number
CROSS JOIN generate_series(1, 5) AS muscle
CROSS JOIN generate_series(0, 19) AS week;
RESET session_replication_role;
ANALYZE;
