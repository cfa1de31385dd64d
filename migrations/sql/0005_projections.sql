-- What is published. Written only by tidemark.publish_v1, and there only rows that differ; each row carries the
-- generation that wrote it last. Masses are kilograms, exact; estimates are rounded to six decimals.

CREATE TABLE public.user_exercise_stats (
    user_id uuid NOT NULL,
    exercise_id uuid NOT NULL,
    generation bigint NOT NULL,
    exercise_name text NOT NULL,
    sets integer NOT NULL,
    working_set_rows integer NOT NULL,
    warmup_sets integer NOT NULL,
    attempts integer NOT NULL,
    suspect_sets integer NOT NULL,
    reps bigint NOT NULL,
    total_reps bigint NOT NULL,
    working_duration_seconds bigint NOT NULL,
    working_volume_kg numeric NOT NULL,
    total_volume_kg numeric NOT NULL,
    effective_volume_kg numeric NOT NULL,
    best_e1rm_kg numeric,
    best_e1rm_formula text,
    best_e1rm_workout_id uuid,
    best_e1rm_position integer,
    best_e1rm_on date,
    heaviest_kg numeric,
    heaviest_reps integer,
    heaviest_workout_id uuid,
    heaviest_position integer,
    heaviest_on date,
    best_set_volume_kg numeric,
    best_set_kg numeric,
    best_set_reps integer,
    best_set_workout_id uuid,
    best_set_position integer,
    best_set_on date,
    most_reps integer,
    most_reps_workout_id uuid,
    most_reps_position integer,
    most_reps_on date,
    least_assistance_kg numeric,
    least_assistance_workout_id uuid,
    least_assistance_position integer,
    least_assistance_on date,
    first_performed_on date,
    last_performed_on date,
    training_days integer NOT NULL,
    training_weeks integer NOT NULL,
    days_per_week numeric,
    records jsonb NOT NULL,
    PRIMARY KEY (user_id, exercise_id),
    FOREIGN KEY (user_id, exercise_id) REFERENCES public.exercises (user_id, id) ON DELETE CASCADE
);

CREATE TABLE public.user_exercise_rep_maxes (
    user_id uuid NOT NULL,
    exercise_id uuid NOT NULL,
    reps smallint NOT NULL CONSTRAINT user_exercise_rep_maxes_reps CHECK (reps BETWEEN 1 AND 12),
    generation bigint NOT NULL,
    weight_kg numeric NOT NULL,
    performed_reps integer NOT NULL,
    workout_id uuid NOT NULL,
    position integer NOT NULL,
    performed_on date NOT NULL,
    PRIMARY KEY (user_id, exercise_id, reps)
);

CREATE TABLE public.user_exercise_stats_weekly (
    user_id uuid NOT NULL,
    exercise_id uuid NOT NULL,
    week_start date NOT NULL,
    generation bigint NOT NULL,
    iso_week text NOT NULL,
    sets integer NOT NULL,
    reps bigint NOT NULL,
    working_volume_kg numeric NOT NULL,
    total_volume_kg numeric NOT NULL,
    effective_volume_kg numeric NOT NULL,
    best_e1rm_kg numeric,
    PRIMARY KEY (user_id, exercise_id, week_start)
);

-- Sets and volumes of the exercises that work a muscle: whole for a primary, half for a secondary muscle.
CREATE TABLE public.user_muscle_stats_weekly (
    user_id uuid NOT NULL,
    muscle text NOT NULL,
    week_start date NOT NULL,
    generation bigint NOT NULL,
    iso_week text NOT NULL,
    sets numeric NOT NULL,
    primary_sets integer NOT NULL,
    secondary_sets integer NOT NULL,
    working_volume_kg numeric NOT NULL,
    total_volume_kg numeric NOT NULL,
    effective_volume_kg numeric NOT NULL,
    PRIMARY KEY (user_id, muscle, week_start),
    CONSTRAINT user_muscle_stats_weekly_sets CHECK (sets = primary_sets + secondary_sets / 2.0)
);

CREATE TABLE public.user_stats_summary (
    user_id uuid PRIMARY KEY,
    generation bigint NOT NULL,
    workouts integer NOT NULL,
    training_days integer NOT NULL,
    exercises integer NOT NULL,
    sets integer NOT NULL,
    working_set_rows integer NOT NULL,
    reps bigint NOT NULL,
    total_reps bigint NOT NULL,
    total_volume_kg numeric NOT NULL,
    working_volume_kg numeric NOT NULL,
    effective_volume_kg numeric NOT NULL,
    first_performed_on date,
    last_performed_on date,
    last_training_week date,
    last_streak_weeks integer NOT NULL,
    longest_streak_weeks integer NOT NULL,
    longest_streak_started_on date,
    monthly jsonb NOT NULL
);
