WITH published AS (
    SELECT 'exercise' AS kind, to_jsonb(row) AS value FROM public.user_exercise_stats AS row WHERE row.user_id = $1
    UNION ALL
    SELECT 'rep_max', to_jsonb(row) FROM public.user_exercise_rep_maxes AS row WHERE row.user_id = $1
    UNION ALL
    SELECT 'week', to_jsonb(row) FROM public.user_exercise_stats_weekly AS row WHERE row.user_id = $1
    UNION ALL
    SELECT 'muscle week', to_jsonb(row) FROM public.user_muscle_stats_weekly AS row WHERE row.user_id = $1
    UNION ALL
    SELECT 'summary', to_jsonb(row) FROM public.user_stats_summary AS row WHERE row.user_id = $1
), expected AS (
    SELECT 'exercise' AS kind, to_jsonb(row) AS value
    FROM jsonb_populate_recordset(NULL::public.user_exercise_stats, $2::jsonb -> 'exercises') AS row
    UNION ALL
    SELECT 'rep_max', to_jsonb(row)
    FROM jsonb_populate_recordset(NULL::public.user_exercise_rep_maxes, $2::jsonb -> 'rep_maxes') AS row
    UNION ALL
    SELECT 'week', to_jsonb(row)
    FROM jsonb_populate_recordset(NULL::public.user_exercise_stats_weekly, $2::jsonb -> 'weekly') AS row
    UNION ALL
    SELECT 'muscle week', to_jsonb(row)
    FROM jsonb_populate_recordset(NULL::public.user_muscle_stats_weekly, $2::jsonb -> 'muscles') AS row
    UNION ALL
    SELECT 'summary', to_jsonb(row)
    FROM jsonb_populate_record(NULL::public.user_stats_summary, $2::jsonb -> 'summary') AS row
)
SELECT 'published, not expected: ' || surplus.kind || ' ' || surplus.value::text
FROM (
    SELECT kind, value - 'user_id' - 'generation' AS value FROM published
    EXCEPT ALL
    SELECT kind, value - 'user_id' - 'generation' FROM expected
) AS surplus
UNION ALL
SELECT 'expected, not published: ' || missing.kind || ' ' || missing.value::text
FROM (
    SELECT kind, value - 'user_id' - 'generation' AS value FROM expected
    EXCEPT ALL
    SELECT kind, value - 'user_id' - 'generation' FROM published
) AS missing
