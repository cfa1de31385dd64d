INSERT INTO public.exercises (user_id, name)
-- Ten of each of eight: full stops do not matter to the catalogue, so that all of them work muscles.
SELECT $1, ('{Bench Press,Squat,Deadlift,Barbell Row,Overhead Press,Hammer Curl,Leg Curl,Crunch}'::text[])[place % 8 + 1] || repeat('.', place / 8)
FROM generate_series(0, 79) AS place
WHERE $2 > 0 AND $3 > 0;
WITH performed AS (
    INSERT INTO public.workouts (user_id, id, started_at, time_zone)
    SELECT $1, gen_random_uuid(), timestamptz '2016-01-01 18:00+00' + make_interval(days => place * 3 / greatest($2 / 1150, 1)), 'UTC'
    FROM generate_series(1, $2) AS place
    RETURNING id, started_at
)
INSERT INTO public.workout_sets (user_id, workout_id, position, exercise_id, kind, weight, reps)
SELECT $1, performed.id, place, exercise.id, CASE WHEN place % 5 = 0 THEN 'warmup' ELSE 'normal' END,
    40 + (hashtext(performed.id::text || place) & 63) * 1.25, 3 + (hashtext(performed.id::text || place) & 7)
FROM performed
CROSS JOIN generate_series(0, $3 - 1) AS place
CROSS JOIN LATERAL (SELECT ((hashtext(performed.id::text) & 15) * 5 + place / 4) % 80) AS choice (chosen)
JOIN public.exercises AS exercise
    ON exercise.user_id = $1
    AND exercise.name = ('{Bench Press,Squat,Deadlift,Barbell Row,Overhead Press,Hammer Curl,Leg Curl,Crunch}'::text[])[chosen % 8 + 1]
        || repeat('.', chosen / 8)
