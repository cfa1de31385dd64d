-- Marking: whoever changes a figure's input makes the user stale in the same transaction, whatever road the rows took.

-- Raises the users' requested generations, records what became dirty and enqueues one refresh job per user and
-- transaction. p_exercise_ids runs parallel to p_user_ids: an exercise, the zero UUID for all of the user's exercises, or
-- null where only the summary changes. p_priority: 0 for a save, 1 for a rebuild.
CREATE FUNCTION tidemark.mark_users(p_user_ids uuid[], p_exercise_ids uuid[], p_priority smallint DEFAULT 0) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
BEGIN
    IF coalesce(cardinality(p_user_ids), 0) = 0 THEN
        RETURN;
    END IF;

    -- The generation of an existing row is drawn after its lock has been granted. It also stays above what the row has
    -- seen already, should the sequence have fallen behind (a restored backup).
    INSERT INTO public.user_stats_projection_state AS state
        (user_id, requested_generation, requested_at, pending_generation, pending_priority, marked_by, marked_at)
    SELECT fresh.user_id, fresh.generation, clock_timestamp(), fresh.generation, p_priority, pg_current_xact_id(), now()
    FROM (
        SELECT ordered.user_id, nextval('tidemark.generation') AS generation
        FROM (SELECT DISTINCT marked.user_id FROM unnest(p_user_ids) AS marked (user_id) ORDER BY marked.user_id) AS ordered
        OFFSET 0
    ) AS fresh
    ON CONFLICT (user_id) DO UPDATE
    SET (requested_generation, pending_generation) = (
            SELECT drawn.generation, coalesce(state.pending_generation, drawn.generation)
            FROM (
                SELECT greatest(nextval('tidemark.generation'), state.requested_generation + 1, state.applied_generation + 1)
                    AS generation
                OFFSET 0
            ) AS drawn
        ),
        requested_at = clock_timestamp(),
        pending_priority = least(state.pending_priority, excluded.pending_priority),
        marked_by = excluded.marked_by,
        marked_at = excluded.marked_at
    -- Already marked by this transaction and not claimed since: its generation covers this change too.
    WHERE state.marked_by IS DISTINCT FROM excluded.marked_by
        OR state.marked_at IS DISTINCT FROM excluded.marked_at
        OR state.pending_generation IS NULL
        OR state.pending_priority > excluded.pending_priority;

    INSERT INTO public.user_exercise_stats_dirty AS dirty (user_id, exercise_id, generation)
    SELECT DISTINCT marked.user_id, marked.exercise_id, state.requested_generation
    FROM unnest(p_user_ids, p_exercise_ids) AS marked (user_id, exercise_id)
    JOIN public.user_stats_projection_state AS state ON state.user_id = marked.user_id
    WHERE marked.exercise_id IS NOT NULL
    ON CONFLICT (user_id, exercise_id) DO UPDATE SET generation = excluded.generation
    WHERE dirty.generation < excluded.generation;

    INSERT INTO public.user_exercise_stats_refresh_jobs (user_id, generation, priority)
    SELECT state.user_id, state.requested_generation, p_priority
    FROM public.user_stats_projection_state AS state
    WHERE state.user_id = ANY (p_user_ids)
        AND NOT EXISTS (
            SELECT FROM public.user_exercise_stats_refresh_jobs AS job
            WHERE job.user_id = state.user_id AND job.status = 'pending' AND job.generation = state.requested_generation
        );
END
$$;

-- Sets: the exercises they belong to, before and after.
CREATE FUNCTION tidemark.mark_changed_sets() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_user_ids uuid[];
    v_exercise_ids uuid[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(user_id), array_agg(exercise_id) INTO v_user_ids, v_exercise_ids
        FROM (SELECT DISTINCT user_id, exercise_id FROM new_rows) AS changed;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(user_id), array_agg(exercise_id) INTO v_user_ids, v_exercise_ids
        FROM (SELECT DISTINCT user_id, exercise_id FROM old_rows) AS changed;
    ELSE
        SELECT array_agg(user_id), array_agg(exercise_id) INTO v_user_ids, v_exercise_ids
        FROM (SELECT user_id, exercise_id FROM old_rows UNION SELECT user_id, exercise_id FROM new_rows) AS changed;
    END IF;
    PERFORM tidemark.mark_users(v_user_ids, v_exercise_ids);
    RETURN NULL;
END
$$;
CREATE TRIGGER mark_inserted AFTER INSERT ON public.workout_sets REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_changed_sets();
CREATE TRIGGER mark_updated AFTER UPDATE ON public.workout_sets REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_changed_sets();
CREATE TRIGGER mark_deleted AFTER DELETE ON public.workout_sets REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_changed_sets();

-- Workouts: moving one to another date changes every exercise in it; an empty one counts in the summary only. The sets
-- of a deleted workout go with it and mark their exercises themselves.
CREATE FUNCTION tidemark.mark_changed_workouts() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_user_ids uuid[];
    v_exercise_ids uuid[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(user_id), array_agg(NULL::uuid) INTO v_user_ids, v_exercise_ids
        FROM (SELECT DISTINCT user_id FROM new_rows) AS changed;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(user_id), array_agg(NULL::uuid) INTO v_user_ids, v_exercise_ids
        FROM (SELECT DISTINCT user_id FROM old_rows) AS changed;
    ELSE
        SELECT array_agg(user_id), array_agg(exercise_id) INTO v_user_ids, v_exercise_ids
        FROM (
            SELECT user_id, NULL::uuid AS exercise_id FROM old_rows
            UNION
            SELECT moved.user_id, performed.exercise_id
            FROM new_rows AS moved
            LEFT JOIN public.workout_sets AS performed
                ON performed.user_id = moved.user_id AND performed.workout_id = moved.id
        ) AS changed;
    END IF;
    PERFORM tidemark.mark_users(v_user_ids, v_exercise_ids);
    RETURN NULL;
END
$$;
CREATE TRIGGER mark_inserted AFTER INSERT ON public.workouts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_changed_workouts();
CREATE TRIGGER mark_updated AFTER UPDATE ON public.workouts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_changed_workouts();
CREATE TRIGGER mark_deleted AFTER DELETE ON public.workouts REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_changed_workouts();

-- Exercises: a new one has no sets yet. An attribute, a name or a merge changes the exercise itself and both its targets.
CREATE FUNCTION tidemark.mark_changed_exercises() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_user_ids uuid[];
    v_exercise_ids uuid[];
BEGIN
    IF TG_OP = 'DELETE' THEN
        -- Its target too: once the exercise is gone, nothing else tells where its sets were counted.
        SELECT array_agg(user_id), array_agg(exercise_id) INTO v_user_ids, v_exercise_ids
        FROM (
            SELECT user_id, id AS exercise_id FROM old_rows
            UNION
            SELECT user_id, merged_into FROM old_rows WHERE merged_into IS NOT NULL
        ) AS changed;
    ELSE
        -- A merge can reach through a chain of targets, and the muscles of a former name are known to nobody any more: the whole
        -- user is marked, it is rare.
        SELECT array_agg(user_id), array_agg(exercise_id) INTO v_user_ids, v_exercise_ids
        FROM (
            SELECT new_rows.user_id,
                CASE WHEN old_rows.merged_into IS DISTINCT FROM new_rows.merged_into OR new_rows.merged_into IS NOT NULL
                        OR old_rows.name IS DISTINCT FROM new_rows.name
                    THEN '00000000-0000-0000-0000-000000000000'::uuid
                    ELSE new_rows.id
                END AS exercise_id
            FROM old_rows
            JOIN new_rows USING (user_id, id)
            WHERE (old_rows.name, old_rows.load_kind, old_rows.bodyweight_share, old_rows.implements, old_rows.per_side, old_rows.merged_into)
                IS DISTINCT FROM
                (new_rows.name, new_rows.load_kind, new_rows.bodyweight_share, new_rows.implements, new_rows.per_side, new_rows.merged_into)
        ) AS changed;
    END IF;
    PERFORM tidemark.mark_users(v_user_ids, v_exercise_ids);
    RETURN NULL;
END
$$;
CREATE TRIGGER mark_updated AFTER UPDATE ON public.exercises REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_changed_exercises();
CREATE TRIGGER mark_deleted AFTER DELETE ON public.exercises REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_changed_exercises();

-- Bodyweight and profile change figures of every exercise.
CREATE FUNCTION tidemark.mark_whole_users() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_user_ids uuid[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(DISTINCT user_id) INTO v_user_ids FROM new_rows;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(DISTINCT user_id) INTO v_user_ids FROM old_rows;
    ELSE
        SELECT array_agg(user_id) INTO v_user_ids
        FROM (SELECT user_id FROM old_rows UNION SELECT user_id FROM new_rows) AS changed;
    END IF;
    PERFORM tidemark.mark_users(
        v_user_ids, array_fill('00000000-0000-0000-0000-000000000000'::uuid, ARRAY[coalesce(cardinality(v_user_ids), 0)]));
    RETURN NULL;
END
$$;
CREATE TRIGGER mark_inserted AFTER INSERT ON public.bodyweight_log REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_whole_users();
CREATE TRIGGER mark_updated AFTER UPDATE ON public.bodyweight_log REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_whole_users();
CREATE TRIGGER mark_deleted AFTER DELETE ON public.bodyweight_log REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_whole_users();
CREATE TRIGGER mark_inserted AFTER INSERT ON public.training_profiles REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_whole_users();
CREATE TRIGGER mark_updated AFTER UPDATE ON public.training_profiles REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_whole_users();
CREATE TRIGGER mark_deleted AFTER DELETE ON public.training_profiles REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_whole_users();

-- TRUNCATE names no rows: every known user is marked as a whole.
CREATE FUNCTION tidemark.mark_everybody() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_user_ids uuid[];
BEGIN
    SELECT array_agg(user_id ORDER BY user_id) INTO v_user_ids FROM public.user_stats_projection_state;
    PERFORM tidemark.mark_users(
        v_user_ids, array_fill('00000000-0000-0000-0000-000000000000'::uuid, ARRAY[coalesce(cardinality(v_user_ids), 0)]));
    RETURN NULL;
END
$$;
CREATE TRIGGER mark_truncated AFTER TRUNCATE ON public.workout_sets
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_everybody();
CREATE TRIGGER mark_truncated AFTER TRUNCATE ON public.workouts
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_everybody();
CREATE TRIGGER mark_truncated AFTER TRUNCATE ON public.bodyweight_log
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_everybody();
CREATE TRIGGER mark_truncated AFTER TRUNCATE ON public.training_profiles
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.mark_everybody();

-- The date on the user's calendar follows from the instant and the zone, also for rows that arrive by bulk SQL.
CREATE FUNCTION tidemark.place_workout_on_calendar() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.time_zone IS DISTINCT FROM OLD.time_zone THEN
        PERFORM tidemark.check_time_zone(NEW.time_zone);
    END IF;
    IF TG_OP = 'UPDATE' AND (NEW.started_at, NEW.time_zone) IS DISTINCT FROM (OLD.started_at, OLD.time_zone)
        AND (NEW.local_date, NEW.local_time) IS NOT DISTINCT FROM (OLD.local_date, OLD.local_time) THEN
        NEW.local_date := NULL;
        NEW.local_time := NULL;
    END IF;
    NEW.local_date := coalesce(NEW.local_date, (NEW.started_at AT TIME ZONE NEW.time_zone)::date);
    NEW.local_time := coalesce(NEW.local_time, (NEW.started_at AT TIME ZONE NEW.time_zone)::time);
    RETURN NEW;
END
$$;
CREATE TRIGGER place_on_calendar BEFORE INSERT OR UPDATE ON public.workouts
    FOR EACH ROW EXECUTE FUNCTION tidemark.place_workout_on_calendar();

-- Jobs: keeps the claim order and the tally in step with the pending jobs, whoever changes them, an operator in psql too.
CREATE FUNCTION tidemark.follow_jobs() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_user_ids uuid[];
    v_difference bigint;
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(DISTINCT user_id), count(*) INTO v_user_ids, v_difference FROM new_rows WHERE status = 'pending';
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(DISTINCT user_id), -count(*) INTO v_user_ids, v_difference FROM old_rows WHERE status = 'pending';
    ELSE
        SELECT array_agg(DISTINCT user_id), sum(difference) INTO v_user_ids, v_difference
        FROM (
            SELECT user_id, 1 AS difference FROM new_rows WHERE status = 'pending'
            UNION ALL
            SELECT user_id, -1 FROM old_rows WHERE status = 'pending'
        ) AS changed;
    END IF;
    IF v_user_ids IS NULL THEN
        RETURN NULL;
    END IF;
    IF v_difference <> 0 THEN
        INSERT INTO tidemark.queue_tally (pending_jobs, pending_users, stale_users) VALUES (v_difference, 0, 0);
    END IF;

    -- Jobs that marking has just written need no more: this transaction holds the state rows and has put them in order.
    IF TG_OP = 'INSERT' THEN
        -- By itself: in one condition with TG_OP a delete would look for the new rows that it does not have.
        IF NOT EXISTS (
            SELECT FROM new_rows AS inserted
            LEFT JOIN public.user_stats_projection_state AS state ON state.user_id = inserted.user_id
            WHERE inserted.status = 'pending'
                AND (state.marked_by IS DISTINCT FROM pg_current_xact_id()
                    OR state.marked_at IS DISTINCT FROM now()
                    OR state.pending_generation IS NULL
                    OR state.pending_generation > inserted.generation
                    OR state.pending_priority > inserted.priority)
        ) THEN
            RETURN NULL;
        END IF;
        -- A job written by hand for a user whom nobody has marked yet.
        INSERT INTO public.user_stats_projection_state (user_id, requested_generation, requested_at)
        SELECT inserted.user_id, max(inserted.generation), clock_timestamp()
        FROM new_rows AS inserted
        WHERE NOT EXISTS (
            SELECT FROM public.user_stats_projection_state AS state WHERE state.user_id = inserted.user_id
        )
        GROUP BY inserted.user_id
        ORDER BY inserted.user_id
        ON CONFLICT (user_id) DO NOTHING;
    END IF;

    -- Lock first, then look at the jobs: a claim under way may be absorbing some of them.
    PERFORM FROM public.user_stats_projection_state WHERE user_id = ANY (v_user_ids) ORDER BY user_id FOR NO KEY UPDATE;
    UPDATE public.user_stats_projection_state AS state
    SET pending_generation = waiting.generation,
        pending_priority = waiting.priority
    FROM (
        SELECT listed.user_id, oldest.generation, best.priority
        FROM unnest(v_user_ids) AS listed (user_id)
        LEFT JOIN LATERAL (
            SELECT job.generation
            FROM public.user_exercise_stats_refresh_jobs AS job
            WHERE job.user_id = listed.user_id AND job.status = 'pending'
            ORDER BY job.generation
            LIMIT 1
        ) AS oldest ON true
        LEFT JOIN LATERAL (
            SELECT CASE WHEN EXISTS (
                SELECT FROM public.user_exercise_stats_refresh_jobs AS job
                WHERE job.user_id = listed.user_id AND job.status = 'pending' AND job.priority = 0
            ) THEN 0 ELSE 1 END::smallint AS priority
            WHERE oldest.generation IS NOT NULL
        ) AS best ON true
    ) AS waiting
    WHERE state.user_id = waiting.user_id
        AND (state.pending_generation, state.pending_priority) IS DISTINCT FROM (waiting.generation, waiting.priority);
    RETURN NULL;
END
$$;
CREATE TRIGGER follow_inserted AFTER INSERT ON public.user_exercise_stats_refresh_jobs REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.follow_jobs();
CREATE TRIGGER follow_updated AFTER UPDATE ON public.user_exercise_stats_refresh_jobs
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.follow_jobs();
CREATE TRIGGER follow_deleted AFTER DELETE ON public.user_exercise_stats_refresh_jobs REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.follow_jobs();

-- Runs: a user with a live run, or in backoff, is not in the claim order.
CREATE FUNCTION tidemark.follow_run() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP <> 'DELETE' AND NEW.phase IN ('claimed', 'computing', 'computed', 'publishing') THEN
        UPDATE public.user_stats_projection_state AS state
        SET live_run_id = NEW.id
        WHERE state.user_id = NEW.user_id AND state.live_run_id IS DISTINCT FROM NEW.id;
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' AND EXISTS (
        SELECT FROM public.user_stats_projection_state AS state
        WHERE state.user_id = OLD.user_id AND state.live_run_id = OLD.id
    ) THEN
        UPDATE public.user_stats_projection_state AS state SET live_run_id = NULL WHERE state.user_id = OLD.user_id;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.phase = 'failed' AND NEW.retry_not_before IS DISTINCT FROM OLD.retry_not_before THEN
        UPDATE public.user_stats_projection_state AS state
        SET retry_not_before = NEW.retry_not_before
        WHERE state.user_id = NEW.user_id AND state.retry_not_before IS DISTINCT FROM NEW.retry_not_before;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER follow_run AFTER INSERT OR DELETE ON public.user_stats_projection_runs
    FOR EACH ROW EXECUTE FUNCTION tidemark.follow_run();
-- Moving from one live phase to the next changes nothing here.
CREATE TRIGGER follow_updated_run AFTER UPDATE OF phase, retry_not_before ON public.user_stats_projection_runs
    FOR EACH ROW
    WHEN (
        OLD.retry_not_before IS DISTINCT FROM NEW.retry_not_before
        OR (OLD.phase IN ('published', 'failed')) <> (NEW.phase IN ('published', 'failed'))
    )
    EXECUTE FUNCTION tidemark.follow_run();

-- State: the order defence. Nothing may lower applied_generation, nor publish a generation at or below it.
CREATE FUNCTION tidemark.defend_order() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.applied_generation <= OLD.applied_generation THEN
        RAISE EXCEPTION 'generation % is not above the applied generation %', NEW.applied_generation, OLD.applied_generation
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'Published statistics only go forward. Request a refresh to publish again.';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER defend_order BEFORE UPDATE OF applied_generation ON public.user_stats_projection_state
    FOR EACH ROW EXECUTE FUNCTION tidemark.defend_order();

CREATE FUNCTION tidemark.tally_state() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_pending bigint := 0;
    v_stale bigint := 0;
    v_was_pending bigint := 0;
    v_was_stale bigint := 0;
BEGIN
    IF TG_OP <> 'DELETE' THEN
        SELECT count(*) FILTER (WHERE pending_generation IS NOT NULL),
               count(*) FILTER (WHERE requested_generation > applied_generation)
        INTO v_pending, v_stale
        FROM new_rows;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        SELECT count(*) FILTER (WHERE pending_generation IS NOT NULL),
               count(*) FILTER (WHERE requested_generation > applied_generation)
        INTO v_was_pending, v_was_stale
        FROM old_rows;
    END IF;
    IF v_pending <> v_was_pending OR v_stale <> v_was_stale THEN
        INSERT INTO tidemark.queue_tally (pending_jobs, pending_users, stale_users)
        VALUES (0, v_pending - v_was_pending, v_stale - v_was_stale);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER tally_inserted AFTER INSERT ON public.user_stats_projection_state REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.tally_state();
CREATE TRIGGER tally_updated AFTER UPDATE ON public.user_stats_projection_state
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.tally_state();
CREATE TRIGGER tally_deleted AFTER DELETE ON public.user_stats_projection_state REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.tally_state();
