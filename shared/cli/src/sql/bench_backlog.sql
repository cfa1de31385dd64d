INSERT INTO public.exercises (user_id, id, name)
SELECT ('00000000-0000-4000-8000-' || lpad(person::text, 12, '0'))::uuid,
    ('00000000-0000-4000-9000-' || lpad(place::text, 12, '0'))::uuid, 'Exercise ' || place
FROM generate_series(1, $1) AS person
CROSS JOIN generate_series(0, 3) AS place;
INSERT INTO public.workouts (user_id, id, started_at, time_zone)
SELECT ('00000000-0000-4000-8000-' || lpad(person::text, 12, '0'))::uuid,
    ('00000000-0000-4000-a000-' || lpad(place::text, 12, '0'))::uuid, timestamptz '2026-03-01 18:00+00' + make_interval(days => place), 'UTC'
FROM generate_series(1, $1) AS person
CROSS JOIN generate_series(0, 1) AS place;
INSERT INTO public.workout_sets (user_id, workout_id, position, exercise_id, weight, reps)
SELECT ('00000000-0000-4000-8000-' || lpad(person::text, 12, '0'))::uuid,
    ('00000000-0000-4000-a000-' || lpad((place / 10)::text, 12, '0'))::uuid, place % 10,
    ('00000000-0000-4000-9000-' || lpad((place % 4)::text, 12, '0'))::uuid, 40 + (person + place) % 60, 3 + place % 8
FROM generate_series(1, $1) AS person
CROSS JOIN generate_series(0, 19) AS place
