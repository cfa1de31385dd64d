-- The source: what people logged. Only saves and imports write here; no worker and no remedy ever does.
-- Keys begin with user_id, so that the tables can be distributed by user as they are.

CREATE TABLE public.training_profiles (
    user_id uuid PRIMARY KEY,
    time_zone text NOT NULL DEFAULT 'UTC',
    -- ISO weekday of the first day of the user's week, 1 = Monday.
    week_start smallint NOT NULL DEFAULT 1
        CONSTRAINT training_profiles_week_start CHECK (week_start BETWEEN 1 AND 7),
    e1rm_formula text NOT NULL DEFAULT 'brzycki'
        CONSTRAINT training_profiles_e1rm_formula CHECK (e1rm_formula IN ('brzycki', 'epley')),
    display_unit text NOT NULL DEFAULT 'kg'
        CONSTRAINT training_profiles_display_unit CHECK (display_unit IN ('kg', 'lb')),
    updated_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
);
COMMENT ON TABLE public.training_profiles IS 'How a user''s figures are computed and shown. A user without a row has the defaults.';

CREATE TABLE public.exercises (
    user_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT pg_catalog.gen_random_uuid(),
    name text NOT NULL
        CONSTRAINT exercises_name CHECK (pg_catalog.length(name) BETWEEN 1 AND 200),
    load_kind text NOT NULL DEFAULT 'external'
        CONSTRAINT exercises_load_kind CHECK (load_kind IN ('external', 'bodyweight', 'assisted', 'unloaded')),
    -- The share of the bodyweight that is moved, for bodyweight and assisted exercises.
    bodyweight_share numeric(4, 3) NOT NULL DEFAULT 1
        CONSTRAINT exercises_bodyweight_share CHECK (bodyweight_share BETWEEN 0 AND 1),
    -- Two implements: the load counts twice in volume, the set once.
    implements smallint NOT NULL DEFAULT 1
        CONSTRAINT exercises_implements CHECK (implements IN (1, 2)),
    -- Repetitions are written for one side and done with both: they count twice, and so does the volume; the set once.
    per_side boolean NOT NULL DEFAULT false
        CONSTRAINT exercises_per_side CHECK (NOT per_side OR implements = 1),
    -- The exercise under which this one's sets are counted.
    merged_into uuid,
    archived_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    PRIMARY KEY (user_id, id),
    CONSTRAINT exercises_name_once UNIQUE (user_id, name),
    CONSTRAINT exercises_not_merged_into_itself CHECK (merged_into <> id),
    FOREIGN KEY (user_id, merged_into) REFERENCES public.exercises (user_id, id)
);
CREATE INDEX exercises_merged_into ON public.exercises (user_id, merged_into) WHERE merged_into IS NOT NULL;

CREATE TABLE public.workouts (
    user_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT pg_catalog.gen_random_uuid(),
    -- No compute can read infinity, a year of five digits or 24:00, by whatever road they come.
    started_at timestamptz NOT NULL
        CONSTRAINT workouts_started_at CHECK (pg_catalog.isfinite(started_at)),
    -- The zone the user was in then. Later travel does not move a workout to another date.
    time_zone text NOT NULL,
    local_date date NOT NULL
        CONSTRAINT workouts_local_date CHECK (local_date BETWEEN '0001-01-01' AND '9999-12-31'),
    local_time time NOT NULL
        CONSTRAINT workouts_local_time CHECK (local_time < '24:00:00'),
    duration_seconds bigint
        CONSTRAINT workouts_duration_seconds CHECK (duration_seconds BETWEEN 0 AND 31536000),
    title text NOT NULL DEFAULT '',
    notes text NOT NULL DEFAULT '',
    source text NOT NULL DEFAULT 'app',
    created_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    PRIMARY KEY (user_id, id)
);
COMMENT ON COLUMN public.workouts.local_date IS 'The date on the user''s calendar when the workout began, in time_zone.';

CREATE TABLE public.workout_sets (
    user_id uuid NOT NULL,
    workout_id uuid NOT NULL,
    -- The slot within the workout, from 0. Together with the workout it names the set.
    position integer NOT NULL
        CONSTRAINT workout_sets_position CHECK (position BETWEEN 0 AND 100000),
    exercise_id uuid NOT NULL,
    kind text NOT NULL DEFAULT 'normal'
        CONSTRAINT workout_sets_kind CHECK (kind IN ('warmup', 'normal', 'failure', 'drop')),
    -- As typed, in the unit it was typed in; kilograms are derived, never stored over it.
    -- The bounds of the type, said once more because NaN passes those.
    weight numeric(15, 9)
        CONSTRAINT workout_sets_weight CHECK (weight > -1000000 AND weight < 1000000),
    weight_unit text NOT NULL DEFAULT 'kg'
        CONSTRAINT workout_sets_weight_unit CHECK (weight_unit IN ('kg', 'lb')),
    reps integer
        CONSTRAINT workout_sets_reps CHECK (reps BETWEEN 0 AND 1000000),
    duration_seconds bigint
        CONSTRAINT workout_sets_duration_seconds CHECK (duration_seconds BETWEEN 0 AND 31536000),
    distance_meters numeric(18, 9)
        CONSTRAINT workout_sets_distance_meters CHECK (distance_meters >= 0 AND distance_meters < 1000000000),
    rpe numeric(11, 9)
        CONSTRAINT workout_sets_rpe CHECK (rpe BETWEEN 0 AND 10),
    superset integer,
    notes text NOT NULL DEFAULT '',
    PRIMARY KEY (user_id, workout_id, position),
    FOREIGN KEY (user_id, workout_id) REFERENCES public.workouts (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, exercise_id) REFERENCES public.exercises (user_id, id)
);
CREATE INDEX workout_sets_exercise ON public.workout_sets (user_id, exercise_id);

CREATE TABLE public.bodyweight_log (
    user_id uuid NOT NULL,
    measured_on date NOT NULL
        CONSTRAINT bodyweight_log_measured_on CHECK (measured_on BETWEEN '0001-01-01' AND '9999-12-31'),
    weight numeric(15, 9) NOT NULL
        CONSTRAINT bodyweight_log_weight CHECK (weight > 0 AND weight < 2000),
    weight_unit text NOT NULL DEFAULT 'kg'
        CONSTRAINT bodyweight_log_weight_unit CHECK (weight_unit IN ('kg', 'lb')),
    PRIMARY KEY (user_id, measured_on)
);

-- Zones that the server knew when it was last migrated. Reading pg_timezone_names opens several hundred files; a save
-- looks here first.
CREATE TABLE tidemark.time_zones (
    name text PRIMARY KEY
);
INSERT INTO tidemark.time_zones (name) SELECT DISTINCT name FROM pg_catalog.pg_timezone_names;

CREATE FUNCTION tidemark.check_time_zone(p_time_zone text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM tidemark.time_zones WHERE name = p_time_zone)
        OR EXISTS (SELECT FROM pg_timezone_names WHERE name = p_time_zone) THEN
        RETURN;
    END IF;
    RAISE EXCEPTION 'unknown time zone'
        USING ERRCODE = 'invalid_parameter_value',
              HINT = 'Use a name of the IANA time zone database, such as Europe/Berlin or Asia/Seoul.';
END
$$;

CREATE FUNCTION tidemark.check_row_time_zone() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM tidemark.check_time_zone(NEW.time_zone);
    RETURN NEW;
END
$$;
CREATE TRIGGER training_profiles_time_zone BEFORE INSERT OR UPDATE OF time_zone ON public.training_profiles
    FOR EACH ROW EXECUTE FUNCTION tidemark.check_row_time_zone();

-- An exercise merged into one that is merged into it would count nowhere. The user's exercises are locked in one order, so that
-- two merges at the same moment cannot close a circle together.
CREATE FUNCTION tidemark.refuse_merge_circle() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_next uuid := NEW.merged_into;
    v_steps integer := 0;
BEGIN
    IF v_next IS NULL THEN
        RETURN NEW;
    END IF;
    PERFORM FROM public.exercises AS exercise
    WHERE exercise.user_id = NEW.user_id AND (exercise.merged_into IS NOT NULL OR exercise.id IN (NEW.id, NEW.merged_into))
    ORDER BY exercise.id
    FOR NO KEY UPDATE;
    WHILE v_next IS NOT NULL LOOP
        v_steps := v_steps + 1;
        IF v_next = NEW.id OR v_steps > 100 THEN
            RAISE EXCEPTION 'exercises cannot be merged in a circle, nor over more than a hundred steps'
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
        SELECT exercise.merged_into INTO v_next
        FROM public.exercises AS exercise
        WHERE exercise.user_id = NEW.user_id AND exercise.id = v_next;
    END LOOP;
    RETURN NEW;
END
$$;
CREATE TRIGGER refuse_merge_circle BEFORE INSERT OR UPDATE OF merged_into ON public.exercises
    FOR EACH ROW EXECUTE FUNCTION tidemark.refuse_merge_circle();
