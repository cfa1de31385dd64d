-- Everything published of one user, or of one of the user's exercises ($2), in one statement and so of one snapshot. Each
-- row is its relation's row as JSON text, so that no figure passes through a float. $3 is this build's version of the formulas.
-- No row named freshness: nobody knows the user.
WITH exercise AS MATERIALIZED (
    SELECT stats.exercise_id, pg_catalog.lower(stats.exercise_name) AS name, pg_catalog.to_jsonb(stats)::text AS content
    FROM public.user_exercise_stats AS stats
    WHERE stats.user_id = $1
        AND ($2::text IS NULL OR pg_catalog.lower(stats.exercise_name) = pg_catalog.lower($2::text))
), overview AS MATERIALIZED (
    SELECT overview.*,
        CASE
            WHEN state.requested_generation > state.applied_generation THEN 'save'
            WHEN overview.stale OR (state.requested_generation > 0 AND state.definition_version < $3) THEN 'definition'
        END AS stale_because
    FROM public.user_stats_projection_state AS state
    JOIN public.user_stats_overview AS overview ON overview.user_id = state.user_id
    WHERE state.user_id = $1
)
SELECT part.name, part.content
FROM (
    SELECT 'freshness' AS name,
        pg_catalog.jsonb_build_object(
            'stale', overview.stale_because IS NOT NULL,
            'stale_since', overview.stale_since,
            'stale_because', overview.stale_because
        )::text AS content,
        1 AS place, '' AS first_key, 0 AS second_key, NULL::date AS third_key
    FROM overview
    UNION ALL
    SELECT 'user_stats_overview', (pg_catalog.to_jsonb(overview) - 'stale_because')::text, 1, '', 1, NULL
    FROM overview
    UNION ALL
    SELECT 'user_stats_summary', pg_catalog.to_jsonb(summary)::text, 2, '', 0, NULL
    FROM public.user_stats_summary AS summary
    WHERE summary.user_id = $1
    UNION ALL
    SELECT 'user_exercise_stats', exercise.content, 3, exercise.name, 0, NULL
    FROM exercise
    UNION ALL
    SELECT 'user_exercise_rep_maxes', pg_catalog.to_jsonb(rep_max)::text, 4, exercise.name, rep_max.reps, NULL
    FROM public.user_exercise_rep_maxes AS rep_max
    JOIN exercise ON exercise.exercise_id = rep_max.exercise_id
    WHERE rep_max.user_id = $1
    UNION ALL
    SELECT 'user_exercise_stats_weekly', pg_catalog.to_jsonb(weekly)::text, 5, exercise.name, 0, weekly.week_start
    FROM public.user_exercise_stats_weekly AS weekly
    JOIN exercise ON exercise.exercise_id = weekly.exercise_id
    WHERE weekly.user_id = $1
    UNION ALL
    SELECT 'user_muscle_stats_weekly', pg_catalog.to_jsonb(weekly)::text, 6, weekly.muscle, 0, weekly.week_start
    FROM public.user_muscle_stats_weekly AS weekly
    WHERE weekly.user_id = $1 AND $2::text IS NULL
) AS part
ORDER BY part.place, part.first_key, part.second_key, part.third_key
