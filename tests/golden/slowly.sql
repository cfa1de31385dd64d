WITH logged AS (
    SELECT exercise.name, workout.local_date, date_trunc('week', workout.local_date)::date AS week, performed.kind, performed.reps,
        performed.weight * CASE performed.weight_unit WHEN 'lb' THEN 0.45359237 ELSE 1 END AS kilograms
    FROM public.workout_sets AS performed
    JOIN public.workouts AS workout ON workout.user_id = performed.user_id AND workout.id = performed.workout_id
    JOIN public.exercises AS exercise ON exercise.user_id = performed.user_id AND exercise.id = performed.exercise_id
    WHERE performed.user_id = $1
), worked AS (
    SELECT listed.name, listed.muscle, listed.share
    FROM jsonb_to_recordset($2::jsonb) AS listed (name text, muscle text, share numeric)
), expected AS (
    SELECT 'exercise ' || name AS what, jsonb_build_object(
        'total', trim_scale(sum(kilograms * reps)),
        'working', trim_scale(coalesce(sum(kilograms * reps) FILTER (WHERE kind <> 'warmup'), 0)),
        'reps', coalesce(sum(reps) FILTER (WHERE kind <> 'warmup'), 0),
        'heaviest', trim_scale(max(kilograms) FILTER (WHERE kind <> 'warmup' AND reps > 0 AND kilograms > 0)),
        'most reps', max(reps) FILTER (WHERE kind <> 'warmup' AND reps > 0),
        'estimate', trim_scale(round(max(CASE reps WHEN 1 THEN kilograms ELSE 36 * kilograms / (37 - reps) END)
            FILTER (WHERE kind <> 'warmup' AND reps BETWEEN 1 AND 12 AND kilograms > 0), 6)),
        'days', count(DISTINCT local_date) FILTER (WHERE kind <> 'warmup' AND reps > 0),
        'days a week', trim_scale(round(count(DISTINCT local_date) FILTER (WHERE kind <> 'warmup' AND reps > 0)
            / (1 + (max(week) FILTER (WHERE kind <> 'warmup' AND reps > 0) - min(week) FILTER (WHERE kind <> 'warmup' AND reps > 0)) / 7)::numeric, 6))
    ) AS figures
    FROM logged
    GROUP BY name
    UNION ALL
    SELECT 'week ' || name || ' ' || week, jsonb_build_object(
        'total', trim_scale(sum(kilograms * reps)), 'iso', to_char(week, 'IYYY-"W"IW'))
    FROM logged
    GROUP BY name, week
    UNION ALL
    SELECT 'muscle ' || worked.muscle || ' ' || logged.week, jsonb_build_object(
        'total', trim_scale(sum(logged.kilograms * logged.reps * worked.share)),
        'working', trim_scale(coalesce(sum(logged.kilograms * logged.reps * worked.share) FILTER (WHERE logged.kind <> 'warmup'), 0)))
    FROM logged
    JOIN worked ON worked.name = logged.name
    GROUP BY worked.muscle, logged.week
    UNION ALL
    SELECT 'rep max ' || logged.name || ' ' || wanted.reps, jsonb_build_object('weight', trim_scale(max(logged.kilograms)))
    FROM logged
    JOIN generate_series(1, 12) AS wanted (reps) ON logged.reps >= wanted.reps
    WHERE logged.kind <> 'warmup' AND logged.kilograms > 0
    GROUP BY logged.name, wanted.reps
), published AS (
    SELECT 'exercise ' || exercise_name AS what, jsonb_build_object(
        'total', trim_scale(total_volume_kg), 'working', trim_scale(working_volume_kg), 'reps', reps, 'heaviest', trim_scale(heaviest_kg),
        'most reps', most_reps, 'estimate', trim_scale(best_e1rm_kg), 'days', training_days, 'days a week', trim_scale(days_per_week)) AS figures
    FROM public.user_exercise_stats
    WHERE user_id = $1
    UNION ALL
    SELECT 'week ' || exercise.name || ' ' || weekly.week_start,
        jsonb_build_object('total', trim_scale(weekly.total_volume_kg), 'iso', weekly.iso_week)
    FROM public.user_exercise_stats_weekly AS weekly
    JOIN public.exercises AS exercise ON exercise.user_id = $1 AND exercise.id = weekly.exercise_id
    WHERE weekly.user_id = $1
    UNION ALL
    SELECT 'muscle ' || muscle || ' ' || week_start,
        jsonb_build_object('total', trim_scale(total_volume_kg), 'working', trim_scale(working_volume_kg))
    FROM public.user_muscle_stats_weekly
    WHERE user_id = $1
    UNION ALL
    SELECT 'rep max ' || exercise.name || ' ' || best.reps, jsonb_build_object('weight', trim_scale(best.weight_kg))
    FROM public.user_exercise_rep_maxes AS best
    JOIN public.exercises AS exercise ON exercise.user_id = $1 AND exercise.id = best.exercise_id
    WHERE best.user_id = $1
)
SELECT concat_ws(' ', what, 'expected', expected.figures, 'published', published.figures)
FROM expected
FULL JOIN published USING (what)
WHERE expected.figures IS DISTINCT FROM published.figures
