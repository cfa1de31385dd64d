-- Saving: what the application calls. Each stores a workout and marks its user stale in one transaction, the caller's own.

-- The user whom the request's verified claims name, or null where they name nobody: absent, malformed, not a UUID as the server
-- writes it, or two claims that differ. It never fails, so that neither does a read by whom nobody knows.
CREATE FUNCTION tidemark.caller_v1() RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_claims text := nullif(current_setting('request.jwt.claims', true), '');
    -- How older gateways hand over the same claim.
    v_single text := nullif(current_setting('request.jwt.claim.sub', true), '');
    v_subject text := v_single;
BEGIN
    IF v_claims IS NOT NULL THEN
        IF NOT tidemark.is_json(v_claims) THEN
            RETURN NULL;
        END IF;
        v_subject := v_claims::jsonb ->> 'sub';
        IF v_single <> v_subject THEN
            RETURN NULL;
        END IF;
    END IF;
    IF v_subject ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN
        RETURN v_subject::uuid;
    END IF;
    RETURN NULL;
END
$$;

-- Whether the caller may act for a user. The service role and whoever may act as it act for everybody; anybody else only for the
-- user named by the request's verified claims.
CREATE FUNCTION tidemark.may_act_for(p_user_id uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_role text := coalesce(nullif(current_setting('role', true), 'none'), session_user::text);
BEGIN
    RETURN pg_has_role(v_role, 'service_role', 'MEMBER') OR pg_has_role(v_role, 'tidemark_owner', 'MEMBER')
        OR coalesce(tidemark.caller_v1() = p_user_id, false);
END
$$;

CREATE FUNCTION tidemark.check_caller(p_user_id uuid) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF p_user_id IS NULL THEN
        RAISE EXCEPTION 'user_id is missing' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF NOT tidemark.may_act_for(p_user_id) THEN
        RAISE EXCEPTION 'this role may save for its own user only'
            USING ERRCODE = 'insufficient_privilege', HINT = 'request.jwt.claims must name the user as sub.';
    END IF;
END
$$;

-- Refuses what cannot be stored, with the field's place in the document and never its value.
CREATE FUNCTION tidemark.check_workout(p_workout jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_problem text;
BEGIN
    IF jsonb_typeof(p_workout) IS DISTINCT FROM 'object' THEN
        v_problem := 'the workout must be a JSON object';
    -- A misspelled field would be lost without a word.
    ELSIF p_workout - ARRAY['id', 'started_at', 'time_zone', 'duration_seconds', 'title', 'notes', 'sets'] <> '{}' THEN
        v_problem := 'the workout has a field that is not known; known are id, started_at, time_zone, duration_seconds, title, notes, sets';
    ELSIF NOT tidemark.is_uuid(p_workout -> 'id') THEN
        v_problem := 'id must be a UUID';
    ELSIF NOT tidemark.is_instant(p_workout -> 'started_at') THEN
        v_problem := 'started_at must be an instant with its offset, such as 2026-07-19T17:30:00-07:00';
    -- The years of the importers. Beyond them a zone could carry the day out of the calendar, and the refusal of a constraint repeats the row.
    ELSIF NOT (p_workout ->> 'started_at')::timestamptz BETWEEN '1900-01-02T00:00:00Z' AND '2199-12-30T00:00:00Z' THEN
        v_problem := 'started_at must lie between the years 1900 and 2199';
    ELSIF jsonb_typeof(p_workout -> 'title') NOT IN ('string', 'null') OR jsonb_typeof(p_workout -> 'notes') NOT IN ('string', 'null') THEN
        v_problem := 'title and notes must be text';
    ELSIF jsonb_typeof(coalesce(p_workout -> 'sets', '[]')) <> 'array' THEN
        v_problem := 'sets must be an array';
    ELSIF jsonb_array_length(coalesce(p_workout -> 'sets', '[]')) > 2000 THEN
        v_problem := 'a workout holds at most 2000 sets';
    ELSIF length(p_workout ->> 'title') > 500 OR length(p_workout ->> 'notes') > 20000 THEN
        v_problem := 'title holds at most 500 and notes at most 20000 characters';
    ELSIF NOT tidemark.is_number(p_workout -> 'duration_seconds', 0, 31536000, true) THEN
        v_problem := 'duration_seconds must be a whole number from 0 to 31536000';
    END IF;
    IF v_problem IS NULL THEN
        SELECT format('sets[%s]%s%s', listed.place - 1,
            CASE WHEN listed.problem ~ '^(must|has) ' THEN ' ' ELSE '.' END, listed.problem)
        INTO v_problem
        FROM (
            SELECT entry.place, CASE
                WHEN jsonb_typeof(entry.value) <> 'object' THEN 'must be a JSON object'
                WHEN entry.value - ARRAY[
                    'exercise', 'kind', 'weight', 'unit', 'reps', 'duration_seconds', 'distance_meters', 'rpe', 'superset', 'notes'
                ] <> '{}' THEN 'has a field that is not known; known are exercise, kind, weight, unit, reps, duration_seconds, '
                    'distance_meters, rpe, superset, notes'
                WHEN jsonb_typeof(entry.value -> 'exercise') IS DISTINCT FROM 'string'
                    OR length(entry.value ->> 'exercise') NOT BETWEEN 1 AND 200 OR entry.value ->> 'exercise' !~ '\S'
                    THEN 'exercise must be a name of 1 to 200 characters'
                WHEN coalesce(entry.value ->> 'kind', 'normal') NOT IN ('warmup', 'normal', 'failure', 'drop')
                    THEN 'kind must be warmup, normal, failure or drop'
                WHEN coalesce(entry.value ->> 'unit', 'kg') NOT IN ('kg', 'lb') THEN 'unit must be kg or lb'
                WHEN entry.value ? 'weight' AND NOT tidemark.is_number(entry.value -> 'weight', -999999, 999999, false)
                    THEN 'weight must be a number below a million, with at most nine decimals'
                WHEN entry.value ? 'reps' AND NOT tidemark.is_number(entry.value -> 'reps', 0, 1000000, true)
                    THEN 'reps must be a whole number from 0 to 1000000'
                WHEN entry.value ? 'duration_seconds' AND NOT tidemark.is_number(entry.value -> 'duration_seconds', 0, 31536000, true)
                    THEN 'duration_seconds must be a whole number from 0 to 31536000'
                WHEN entry.value ? 'distance_meters' AND NOT tidemark.is_number(entry.value -> 'distance_meters', 0, 99999999, false)
                    THEN 'distance_meters must be a number from 0 to 99999999'
                WHEN entry.value ? 'rpe' AND NOT tidemark.is_number(entry.value -> 'rpe', 0, 10, false) THEN 'rpe must be a number from 0 to 10'
                WHEN entry.value ? 'superset' AND NOT tidemark.is_number(entry.value -> 'superset', -1000000, 1000000, true)
                    THEN 'superset must be a whole number'
                WHEN jsonb_typeof(entry.value -> 'notes') NOT IN ('string', 'null') THEN 'notes must be text'
                WHEN length(entry.value ->> 'notes') > 20000 THEN 'notes holds at most 20000 characters'
            END AS problem
            FROM jsonb_array_elements(coalesce(p_workout -> 'sets', '[]')) WITH ORDINALITY AS entry (value, place)
        ) AS listed
        WHERE listed.problem IS NOT NULL
        ORDER BY listed.place
        LIMIT 1;
    END IF;
    IF v_problem IS NOT NULL THEN
        RAISE EXCEPTION '%', v_problem USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$$;

-- Absent and null are fine: the field is not given.
CREATE FUNCTION tidemark.is_number(p_value jsonb, p_least numeric, p_most numeric, p_whole boolean) RETURNS boolean
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE jsonb_typeof(p_value)
        WHEN 'number' THEN p_value::numeric BETWEEN p_least AND p_most
            AND (NOT p_whole OR p_value::numeric = trunc(p_value::numeric))
            AND p_value::numeric = round(p_value::numeric, 9)
        WHEN 'null' THEN true
        ELSE p_value IS NULL
    END
$$;

-- Absent and null are fine: an id is given to the workout.
CREATE FUNCTION tidemark.is_uuid(p_value jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE jsonb_typeof(p_value)
        WHEN 'string' THEN p_value #>> '{}' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        WHEN 'null' THEN true
        ELSE p_value IS NULL
    END
$$;

-- A text that only looks like an instant (the 30th of February) is refused by the cast, whose own error would repeat it.
CREATE FUNCTION tidemark.is_instant(p_value jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF jsonb_typeof(p_value) IS DISTINCT FROM 'string'
        OR p_value #>> '{}' !~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$' THEN
        RETURN false;
    END IF;
    PERFORM (p_value #>> '{}')::timestamptz;
    RETURN true;
EXCEPTION WHEN data_exception THEN
    RETURN false;
END
$$;

CREATE FUNCTION tidemark.is_json(p_text text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM p_text::jsonb;
    RETURN true;
EXCEPTION WHEN others THEN
    RETURN false;
END
$$;

-- Makes the exercises that are not there yet, and keeps all of them from being renamed or deleted until the transaction ends.
-- Names are the identity: an unknown one is an exercise of its own. Called before anything marks the user, because renaming an
-- exercise locks it and marks its user afterwards: everybody takes exercises first and the user's state row second.
CREATE FUNCTION tidemark.hold_exercises(p_user_id uuid, p_names text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_names text[];
    v_held integer;
BEGIN
    SELECT coalesce(array_agg(DISTINCT listed.name ORDER BY listed.name), '{}') INTO v_names
    FROM unnest(p_names) AS listed (name)
    WHERE listed.name IS NOT NULL;
    -- One that is renamed or deleted while this waits for it is made anew; otherwise its sets would find no exercise.
    LOOP
        INSERT INTO public.exercises (user_id, name, load_kind)
        SELECT p_user_id, wanted.name, CASE WHEN wanted.name ~* '\massisted\M' THEN 'assisted' ELSE 'external' END
        FROM unnest(v_names) AS wanted (name)
        WHERE NOT EXISTS (
            SELECT FROM public.exercises AS exercise WHERE exercise.user_id = p_user_id AND exercise.name = wanted.name
        )
        ON CONFLICT (user_id, name) DO NOTHING;
        PERFORM FROM public.exercises AS exercise
        WHERE exercise.user_id = p_user_id AND exercise.name = ANY (v_names)
        ORDER BY exercise.id
        FOR KEY SHARE;
        GET DIAGNOSTICS v_held = ROW_COUNT;
        EXIT WHEN v_held = cardinality(v_names);
    END LOOP;
END
$$;

-- The names that a list of sets mentions.
CREATE FUNCTION tidemark.exercise_names(p_sets jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_agg(DISTINCT entry.value ->> 'exercise') FROM jsonb_array_elements(coalesce(p_sets, '[]')) AS entry (value)
$$;

-- Writes the sets of a workout: changed slots are updated, missing ones deleted, equal ones left alone. The caller holds the
-- exercises.
CREATE FUNCTION tidemark.write_sets(p_user_id uuid, p_workout_id uuid, p_sets jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM public.workout_sets
    WHERE user_id = p_user_id AND workout_id = p_workout_id AND position >= jsonb_array_length(p_sets);
    INSERT INTO public.workout_sets AS stored (
        user_id, workout_id, position, exercise_id, kind, weight, weight_unit, reps, duration_seconds, distance_meters, rpe,
        superset, notes
    )
    SELECT p_user_id, p_workout_id, entry.place - 1, exercise.id, coalesce(entry.value ->> 'kind', 'normal'),
        (entry.value ->> 'weight')::numeric, coalesce(entry.value ->> 'unit', 'kg'), (entry.value ->> 'reps')::numeric::integer,
        (entry.value ->> 'duration_seconds')::numeric::bigint, (entry.value ->> 'distance_meters')::numeric,
        (entry.value ->> 'rpe')::numeric, (entry.value ->> 'superset')::numeric::integer, coalesce(entry.value ->> 'notes', '')
    FROM jsonb_array_elements(p_sets) WITH ORDINALITY AS entry (value, place)
    JOIN public.exercises AS exercise ON exercise.user_id = p_user_id AND exercise.name = entry.value ->> 'exercise'
    ON CONFLICT (user_id, workout_id, position) DO UPDATE SET
        exercise_id = excluded.exercise_id, kind = excluded.kind, weight = excluded.weight, weight_unit = excluded.weight_unit,
        reps = excluded.reps, duration_seconds = excluded.duration_seconds, distance_meters = excluded.distance_meters,
        rpe = excluded.rpe, superset = excluded.superset, notes = excluded.notes
    WHERE (
        stored.exercise_id, stored.kind, stored.weight, stored.weight_unit, stored.reps, stored.duration_seconds,
        stored.distance_meters, stored.rpe, stored.superset, stored.notes
    ) IS DISTINCT FROM (
        excluded.exercise_id, excluded.kind, excluded.weight, excluded.weight_unit, excluded.reps, excluded.duration_seconds,
        excluded.distance_meters, excluded.rpe, excluded.superset, excluded.notes
    );
END
$$;

CREATE FUNCTION tidemark.requested_generation(p_user_id uuid) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT state.requested_generation FROM public.user_stats_projection_state AS state WHERE state.user_id = p_user_id
$$;

-- Stores a workout: {"id"?, "started_at", "time_zone"?, "duration_seconds"?, "title"?, "notes"?, "sets": [{"exercise",
-- "kind"?, "weight"?, "unit"?, "reps"?, "duration_seconds"?, "distance_meters"?, "rpe"?, "superset"?, "notes"?}]}.
-- With an id that is stored already nothing is written and inserted is false, so that a retried save has one effect.
-- Returns {"workout_id", "inserted", "generation"}. lock_timeout bounds each wait for a lock by the save limit of 8000 ms for
-- roles that set no statement_timeout of their own; the whole is bounded by the statement_timeout of the roles that save.
CREATE FUNCTION public.save_workout_v1(p_user_id uuid, p_workout jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '8s' AS $$
DECLARE
    v_workout_id uuid;
    v_time_zone text;
BEGIN
    PERFORM tidemark.check_caller(p_user_id);
    PERFORM tidemark.check_workout(p_workout);
    v_workout_id := coalesce((p_workout ->> 'id')::uuid, gen_random_uuid());
    v_time_zone := coalesce(
        p_workout ->> 'time_zone',
        (SELECT profile.time_zone FROM public.training_profiles AS profile WHERE profile.user_id = p_user_id),
        'UTC');
    IF EXISTS (SELECT FROM public.workouts AS workout WHERE workout.user_id = p_user_id AND workout.id = v_workout_id) THEN
        RETURN jsonb_build_object(
            'workout_id', v_workout_id, 'inserted', false, 'generation', tidemark.requested_generation(p_user_id));
    END IF;
    PERFORM tidemark.hold_exercises(p_user_id, tidemark.exercise_names(p_workout -> 'sets'));
    INSERT INTO public.workouts (user_id, id, started_at, time_zone, duration_seconds, title, notes)
    VALUES (
        p_user_id, v_workout_id, (p_workout ->> 'started_at')::timestamptz, v_time_zone,
        (p_workout ->> 'duration_seconds')::numeric::bigint, coalesce(p_workout ->> 'title', ''),
        coalesce(p_workout ->> 'notes', ''))
    ON CONFLICT (user_id, id) DO NOTHING;
    IF NOT FOUND THEN
        RETURN jsonb_build_object(
            'workout_id', v_workout_id, 'inserted', false, 'generation', tidemark.requested_generation(p_user_id));
    END IF;
    PERFORM tidemark.write_sets(p_user_id, v_workout_id, coalesce(p_workout -> 'sets', '[]'));
    RETURN jsonb_build_object(
        'workout_id', v_workout_id, 'inserted', true, 'generation', tidemark.requested_generation(p_user_id));
END
$$;

-- Replaces a stored workout by the given document, which has the shape that save_workout_v1 takes. Returns {"workout_id",
-- "generation"}; SQLSTATE P0002 where there is no such workout.
CREATE FUNCTION public.edit_workout_v1(p_user_id uuid, p_workout_id uuid, p_workout jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '8s' AS $$
BEGIN
    PERFORM tidemark.check_caller(p_user_id);
    PERFORM tidemark.check_workout(p_workout);
    IF NOT EXISTS (SELECT FROM public.workouts AS workout WHERE workout.user_id = p_user_id AND workout.id = p_workout_id) THEN
        RAISE EXCEPTION 'there is no such workout' USING ERRCODE = 'no_data_found';
    END IF;
    PERFORM tidemark.hold_exercises(p_user_id, tidemark.exercise_names(p_workout -> 'sets'));
    UPDATE public.workouts AS workout
    SET started_at = (p_workout ->> 'started_at')::timestamptz,
        time_zone = coalesce(p_workout ->> 'time_zone', workout.time_zone),
        duration_seconds = (p_workout ->> 'duration_seconds')::numeric::bigint,
        title = coalesce(p_workout ->> 'title', ''),
        notes = coalesce(p_workout ->> 'notes', ''),
        updated_at = clock_timestamp()
    WHERE workout.user_id = p_user_id AND workout.id = p_workout_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no such workout' USING ERRCODE = 'no_data_found';
    END IF;
    PERFORM tidemark.write_sets(p_user_id, p_workout_id, coalesce(p_workout -> 'sets', '[]'));
    RETURN jsonb_build_object('workout_id', p_workout_id, 'generation', tidemark.requested_generation(p_user_id));
END
$$;

-- Deletes a workout with its sets. Returns {"workout_id", "deleted", "generation"}; deleting twice is not an error.
CREATE FUNCTION public.delete_workout_v1(p_user_id uuid, p_workout_id uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '8s' AS $$
DECLARE
    v_deleted boolean;
BEGIN
    PERFORM tidemark.check_caller(p_user_id);
    DELETE FROM public.workouts AS workout WHERE workout.user_id = p_user_id AND workout.id = p_workout_id;
    v_deleted := FOUND;
    RETURN jsonb_build_object(
        'workout_id', p_workout_id, 'deleted', v_deleted, 'generation', tidemark.requested_generation(p_user_id));
END
$$;

-- Marks users stale as a whole. Low priority lets every save go first. Returns how many users were marked: somebody of whom
-- nothing was ever logged has no figures to refresh.
CREATE FUNCTION public.request_stats_refresh(p_user_ids uuid[], p_low_priority boolean DEFAULT false) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_user_ids uuid[];
BEGIN
    SELECT array_agg(DISTINCT listed.user_id) INTO v_user_ids
    FROM unnest(p_user_ids) AS listed (user_id)
    JOIN public.user_stats_projection_state AS state ON state.user_id = listed.user_id;
    PERFORM tidemark.mark_users(
        v_user_ids,
        array_fill('00000000-0000-0000-0000-000000000000'::uuid, ARRAY[coalesce(cardinality(v_user_ids), 0)]),
        CASE WHEN p_low_priority THEN 1 ELSE 0 END::smallint);
    RETURN coalesce(cardinality(v_user_ids), 0);
END
$$;

-- Which of an import's workouts are stored with other sets. Notes are no part of it: they may be edited on either side without
-- a figure changing. Fewer stored sets are a shorter export, unless the workout was edited here since.
CREATE FUNCTION tidemark.different_imports(p_user_id uuid, p_workouts jsonb) RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT workout.id), '{}')
    FROM jsonb_to_recordset(p_workouts) AS workout (id uuid, sets jsonb)
    JOIN public.workouts AS known ON known.user_id = p_user_id AND known.id = workout.id
    CROSS JOIN LATERAL jsonb_to_recordset(workout.sets) AS entry (
        position integer, exercise text, kind text, weight numeric, unit text, reps integer, duration_seconds bigint,
        distance_meters numeric, rpe numeric, superset integer
    )
    LEFT JOIN public.workout_sets AS stored
        ON stored.user_id = p_user_id AND stored.workout_id = workout.id AND stored.position = entry.position
    LEFT JOIN public.exercises AS exercise ON exercise.user_id = p_user_id AND exercise.id = stored.exercise_id
    WHERE CASE
        WHEN stored.position IS NULL THEN known.updated_at <> known.created_at
        ELSE (
            exercise.name, stored.kind, stored.weight, stored.weight_unit, stored.reps, stored.duration_seconds,
            stored.distance_meters, stored.rpe, stored.superset
        ) IS DISTINCT FROM (
            entry.exercise, entry.kind, entry.weight, entry.unit, entry.reps, entry.duration_seconds, entry.distance_meters,
            entry.rpe, entry.superset
        )
    END
$$;

-- Stores an import in one transaction. p_workouts: [{"id", "local_start", "is_utc"?, "duration_seconds"?, "title", "notes",
-- "sets": [{"position", "exercise", "kind", "weight"?, "unit", "reps"?, "duration_seconds"?, "distance_meters"?, "rpe"?,
-- "superset"?, "notes"}]}]. Local times are taken in p_time_zone; with "is_utc" local_start is the instant in UTC.
-- What is stored already stays as it is; sets that the document has after all the stored ones are added. A workout that was
-- edited here, or whose sets are others now, is left alone, or with p_replace becomes what the document says.
-- Returns the slots that were written, and without a position each workout that differs and was left alone.
CREATE FUNCTION tidemark.import_workouts_v1(
    p_user_id uuid, p_source text, p_time_zone text, p_workouts jsonb, p_replace boolean DEFAULT false
)
RETURNS TABLE (imported_workout_id uuid, imported_position integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_different uuid[];
    v_left_alone uuid[] := '{}';
BEGIN
    PERFORM tidemark.check_caller(p_user_id);
    PERFORM tidemark.check_time_zone(p_time_zone);
    v_different := tidemark.different_imports(p_user_id, p_workouts);
    IF p_replace THEN
        DELETE FROM public.workout_sets AS stored
        WHERE stored.user_id = p_user_id AND stored.workout_id = ANY (v_different);
    ELSE
        v_left_alone := v_different;
    END IF;
    -- Only those that will have sets: an exercise that was renamed since would come back empty otherwise.
    PERFORM tidemark.hold_exercises(p_user_id, (
        SELECT array_agg(DISTINCT entry.exercise)
        FROM jsonb_to_recordset(p_workouts) AS workout (id uuid, sets jsonb)
        CROSS JOIN LATERAL jsonb_to_recordset(workout.sets) AS entry (position integer, exercise text)
        WHERE workout.id <> ALL (v_left_alone)
            AND NOT EXISTS (
                SELECT FROM public.workout_sets AS stored
                WHERE stored.user_id = p_user_id AND stored.workout_id = workout.id AND stored.position = entry.position
            )
    ));
    INSERT INTO public.workouts AS stored (
        user_id, id, started_at, time_zone, local_date, local_time, duration_seconds, title, notes, source, created_at, updated_at
    )
    SELECT p_user_id, workout.id,
        workout.local_start::timestamp AT TIME ZONE CASE WHEN workout.is_utc THEN 'UTC' ELSE p_time_zone END, p_time_zone,
        -- As written, also where a clock was set forward over that time; what is left out follows from instant and zone.
        CASE WHEN workout.is_utc THEN NULL ELSE workout.local_start::timestamp::date END,
        CASE WHEN workout.is_utc THEN NULL ELSE workout.local_start::timestamp::time END,
        workout.duration_seconds, coalesce(workout.title, ''), coalesce(workout.notes, ''), p_source, v_now, v_now
    FROM jsonb_to_recordset(p_workouts) AS workout (
        id uuid, local_start text, is_utc boolean, duration_seconds bigint, title text, notes text
    )
    ON CONFLICT (user_id, id) DO UPDATE
    SET title = excluded.title, notes = excluded.notes, duration_seconds = excluded.duration_seconds, updated_at = v_now
    WHERE p_replace AND stored.id = ANY (v_different);
    RETURN QUERY
    INSERT INTO public.workout_sets (
        user_id, workout_id, position, exercise_id, kind, weight, weight_unit, reps, duration_seconds, distance_meters, rpe,
        superset, notes
    )
    SELECT p_user_id, workout.id, entry.position, exercise.id, entry.kind, entry.weight, entry.unit, entry.reps,
        entry.duration_seconds, entry.distance_meters, entry.rpe, entry.superset, coalesce(entry.notes, '')
    FROM jsonb_to_recordset(p_workouts) AS workout (id uuid, sets jsonb)
    CROSS JOIN LATERAL jsonb_to_recordset(workout.sets) AS entry (
        position integer, exercise text, kind text, weight numeric, unit text, reps integer, duration_seconds bigint,
        distance_meters numeric, rpe numeric, superset integer, notes text
    )
    JOIN public.exercises AS exercise ON exercise.user_id = p_user_id AND exercise.name = entry.exercise
    WHERE workout.id <> ALL (v_left_alone)
    ON CONFLICT (user_id, workout_id, position) DO NOTHING
    RETURNING workout_sets.workout_id, workout_sets.position;
    RETURN QUERY SELECT different.id, NULL::integer FROM unnest(v_left_alone) AS different (id);
END
$$;
