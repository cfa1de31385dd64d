-- What a compute reads of one user. The caller reads all of it in one REPEATABLE READ transaction: one snapshot. PL/pgSQL keeps
-- the plans for the session; functions in SQL would be planned at every call, which took longer than reading. A plan made
-- while the tables were small would stay as well, so that sequential scans are off.

CREATE FUNCTION tidemark.source_profile_v1(p_user_id uuid)
RETURNS TABLE (week_start smallint, e1rm_formula text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT coalesce(profile.week_start, 1::smallint), coalesce(profile.e1rm_formula, 'brzycki')
    FROM (VALUES (p_user_id)) AS wanted (user_id)
    LEFT JOIN public.training_profiles AS profile ON profile.user_id = wanted.user_id;
END
$$;

CREATE FUNCTION tidemark.source_exercises_v1(p_user_id uuid)
RETURNS TABLE (id uuid, name text, load_kind text, bodyweight_share numeric, implements smallint, merged_into uuid, per_side boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT exercise.id, exercise.name, exercise.load_kind, exercise.bodyweight_share, exercise.implements, exercise.merged_into,
        exercise.per_side
    FROM public.exercises AS exercise
    WHERE exercise.user_id = p_user_id;
END
$$;

CREATE FUNCTION tidemark.source_workouts_v1(p_user_id uuid)
RETURNS TABLE (id uuid, local_date date, local_time time, duration_seconds bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT workout.id, workout.local_date, workout.local_time, workout.duration_seconds
    FROM public.workouts AS workout
    WHERE workout.user_id = p_user_id;
END
$$;

CREATE FUNCTION tidemark.source_sets_v1(p_user_id uuid)
RETURNS TABLE (
    workout_id uuid, exercise_id uuid, "position" integer, kind text, weight numeric, weight_unit text, reps integer,
    duration_seconds bigint, distance_meters numeric
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT stored.workout_id, stored.exercise_id, stored.position, stored.kind, stored.weight, stored.weight_unit, stored.reps,
        stored.duration_seconds, stored.distance_meters
    FROM public.workout_sets AS stored
    WHERE stored.user_id = p_user_id;
END
$$;

CREATE FUNCTION tidemark.source_bodyweights_v1(p_user_id uuid)
RETURNS TABLE (measured_on date, weight numeric, weight_unit text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT logged.measured_on, logged.weight, logged.weight_unit
    FROM public.bodyweight_log AS logged
    WHERE logged.user_id = p_user_id;
END
$$;

-- What has to be published anew: the exercises marked dirty, of whatever generation this snapshot sees. everything: the user
-- was marked as a whole, was never published, or was published by another version of the formulas.
CREATE FUNCTION tidemark.source_dirty_v1(p_user_id uuid, p_definition_version integer)
RETURNS TABLE (everything boolean, exercise_ids uuid[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT
        coalesce(state.applied_generation, 0) = 0
            OR state.definition_version IS DISTINCT FROM p_definition_version
            OR '00000000-0000-0000-0000-000000000000' = ANY (marked.exercise_ids),
        marked.exercise_ids
    FROM (VALUES (p_user_id)) AS wanted (user_id)
    LEFT JOIN public.user_stats_projection_state AS state ON state.user_id = wanted.user_id
    CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(dirty.exercise_id), '{}') AS exercise_ids
        FROM public.user_exercise_stats_dirty AS dirty
        WHERE dirty.user_id = wanted.user_id
    ) AS marked;
END
$$;
