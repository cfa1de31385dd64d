-- Publishing: the difference between what a run has computed and what is published, in one transaction.

CREATE TYPE tidemark.publish_result AS (
    -- 'published' or 'lost'
    outcome text,
    rows_changed integer,
    rows_unchanged integer,
    rows_deleted integer
);

-- The staged document holds the rows of the exercises named in exercise_ids (of every exercise where that is null), of the
-- muscles named in muscle_names (likewise), by week, and the summary. Only rows that differ are written, rows that vanished are deleted; then, last, so that a save waits for these few
-- statements only, the user's state row is locked and the generation becomes the applied one.
--
-- Nested loops are off because the server knows nothing of the size of a staged document: with a first publish of thousands
-- of rows it would otherwise compare each with each. Compilation is off because switching a method off makes the estimated
-- costs huge, and compiling took 400 ms for a publish of one row. One plan serves every user: planning anew took longer
-- than publishing. Sequential scans are off because a plan made while the tables were small would stay: each publish of a
-- growing backlog read the whole tables.
CREATE FUNCTION tidemark.publish_v1(p_run_id bigint, p_attempt integer, p_lease_token uuid) RETURNS tidemark.publish_result
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_result tidemark.publish_result := ROW('lost', 0, 0, 0);
    v_began timestamptz := clock_timestamp();
    v_run public.user_stats_projection_runs;
    v_document jsonb;
    v_definition_version integer;
    v_exercise_ids uuid[];
    v_muscles text[];
    v_muscle_weeks jsonb;
    v_weeks date[];
    v_computed integer := 0;
    v_changed integer := 0;
    v_deleted integer := 0;
BEGIN
    SELECT run.* INTO v_run FROM public.user_stats_projection_runs AS run WHERE run.id = p_run_id FOR NO KEY UPDATE;
    IF NOT FOUND OR v_run.phase <> 'publishing' OR v_run.attempt <> p_attempt OR v_run.lease_token <> p_lease_token
        OR v_run.lease_expires_at <= clock_timestamp() THEN
        RETURN v_result;
    END IF;
    -- The empty path reads the document whole, once: taken as it is, each look at a part of it would read all of it anew.
    SELECT staged.document #> '{}', staged.definition_version INTO v_document, v_definition_version
    FROM tidemark.staged_results AS staged
    WHERE staged.run_id = p_run_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the staged result of the run is missing' USING ERRCODE = 'no_data_found';
    END IF;
    IF jsonb_typeof(v_document -> 'exercise_ids') = 'array' THEN
        SELECT coalesce(array_agg(listed.id::uuid), '{}') INTO v_exercise_ids
        FROM jsonb_array_elements_text(v_document -> 'exercise_ids') AS listed (id);
    ELSE
        SELECT coalesce(array_agg(known.exercise_id), '{}') INTO v_exercise_ids
        FROM (
            SELECT published.exercise_id FROM public.user_exercise_stats AS published WHERE published.user_id = v_run.user_id
            UNION
            SELECT published.exercise_id FROM public.user_exercise_rep_maxes AS published WHERE published.user_id = v_run.user_id
            UNION
            SELECT published.exercise_id FROM public.user_exercise_stats_weekly AS published WHERE published.user_id = v_run.user_id
        ) AS known;
    END IF;
    IF jsonb_typeof(v_document -> 'muscle_names') = 'array' THEN
        v_muscles := ARRAY(SELECT jsonb_array_elements_text(v_document -> 'muscle_names'));
    ELSE
        v_muscles := ARRAY(
            SELECT DISTINCT published.muscle FROM public.user_muscle_stats_weekly AS published WHERE published.user_id = v_run.user_id);
    END IF;

    WITH computed AS MATERIALIZED (
        SELECT *
        FROM jsonb_to_recordset(v_document -> 'rep_maxes') AS computed (
            exercise_id uuid, reps smallint, weight_kg numeric, performed_reps integer, workout_id uuid,
            position integer, performed_on date
        )
    ), differing AS (
        SELECT computed.*
        FROM computed
        LEFT JOIN public.user_exercise_rep_maxes AS published
            ON published.user_id = v_run.user_id AND published.exercise_id = ANY (v_exercise_ids)
            AND published.exercise_id = computed.exercise_id AND published.reps = computed.reps
        WHERE published.user_id IS NULL
            OR (
                published.weight_kg, published.performed_reps, published.workout_id, published.position,
                published.performed_on
            ) IS DISTINCT FROM (
                computed.weight_kg, computed.performed_reps, computed.workout_id, computed.position,
                computed.performed_on
            )
    ), written AS (
        INSERT INTO public.user_exercise_rep_maxes (
            user_id, generation,
            exercise_id, reps, weight_kg, performed_reps, workout_id, position, performed_on
        )
        SELECT v_run.user_id, v_run.generation,
            differing.exercise_id, differing.reps, differing.weight_kg, differing.performed_reps,
            differing.workout_id, differing.position, differing.performed_on
        FROM differing
        ON CONFLICT (user_id, exercise_id, reps) DO UPDATE SET
            generation = excluded.generation,
            weight_kg = excluded.weight_kg, performed_reps = excluded.performed_reps,
            workout_id = excluded.workout_id, position = excluded.position,
            performed_on = excluded.performed_on
        RETURNING 1
    ), vanished AS (
        DELETE FROM public.user_exercise_rep_maxes AS published
        WHERE published.user_id = v_run.user_id
            AND published.exercise_id = ANY (v_exercise_ids)
            AND NOT EXISTS (SELECT FROM computed WHERE computed.exercise_id = published.exercise_id AND computed.reps = published.reps)
        RETURNING 1
    )
    SELECT v_computed + (SELECT count(*) FROM computed), v_changed + (SELECT count(*) FROM written),
        v_deleted + (SELECT count(*) FROM vanished)
    INTO v_computed, v_changed, v_deleted;

    WITH computed AS MATERIALIZED (
        SELECT *
        FROM jsonb_to_recordset(v_document -> 'weekly') AS computed (
            exercise_id uuid, week_start date, iso_week text, sets integer, reps bigint,
            working_volume_kg numeric, total_volume_kg numeric, effective_volume_kg numeric,
            best_e1rm_kg numeric
        )
    ), differing AS (
        SELECT computed.*
        FROM computed
        LEFT JOIN public.user_exercise_stats_weekly AS published
            ON published.user_id = v_run.user_id AND published.exercise_id = ANY (v_exercise_ids)
            AND published.exercise_id = computed.exercise_id AND published.week_start = computed.week_start
        WHERE published.user_id IS NULL
            OR (
                published.iso_week, published.sets, published.reps, published.working_volume_kg,
                published.total_volume_kg, published.effective_volume_kg, published.best_e1rm_kg
            ) IS DISTINCT FROM (
                computed.iso_week, computed.sets, computed.reps, computed.working_volume_kg,
                computed.total_volume_kg, computed.effective_volume_kg, computed.best_e1rm_kg
            )
    ), written AS (
        INSERT INTO public.user_exercise_stats_weekly (
            user_id, generation,
            exercise_id, week_start, iso_week, sets, reps, working_volume_kg, total_volume_kg,
            effective_volume_kg, best_e1rm_kg
        )
        SELECT v_run.user_id, v_run.generation,
            differing.exercise_id, differing.week_start, differing.iso_week, differing.sets, differing.reps,
            differing.working_volume_kg, differing.total_volume_kg, differing.effective_volume_kg,
            differing.best_e1rm_kg
        FROM differing
        ON CONFLICT (user_id, exercise_id, week_start) DO UPDATE SET
            generation = excluded.generation,
            iso_week = excluded.iso_week, sets = excluded.sets, reps = excluded.reps,
            working_volume_kg = excluded.working_volume_kg, total_volume_kg = excluded.total_volume_kg,
            effective_volume_kg = excluded.effective_volume_kg, best_e1rm_kg = excluded.best_e1rm_kg
        RETURNING week_start
    ), vanished AS (
        DELETE FROM public.user_exercise_stats_weekly AS published
        WHERE published.user_id = v_run.user_id
            AND published.exercise_id = ANY (v_exercise_ids)
            AND NOT EXISTS (SELECT FROM computed WHERE computed.exercise_id = published.exercise_id AND computed.week_start = published.week_start)
        RETURNING week_start
    )
    SELECT v_computed + (SELECT count(*) FROM computed), v_changed + (SELECT count(*) FROM written),
        v_deleted + (SELECT count(*) FROM vanished),
        ARRAY(SELECT written.week_start FROM written UNION SELECT vanished.week_start FROM vanished)
    INTO v_computed, v_changed, v_deleted, v_weeks;

    -- A muscle's week is a sum over its exercises' weeks: where none of those changed, it has not either. Reading every week of
    -- ten years made a publish of one workout several times as long. Where everything is published, every week is read.
    v_muscle_weeks := v_document -> 'muscles';
    IF jsonb_typeof(v_document -> 'muscle_names') IS DISTINCT FROM 'array' THEN
        v_weeks := ARRAY(
            SELECT listed.week::date FROM jsonb_object_keys(v_document -> 'muscles') AS listed (week)
            UNION
            SELECT published.week_start FROM public.user_muscle_stats_weekly AS published WHERE published.user_id = v_run.user_id
        );
    END IF;

    WITH computed AS MATERIALIZED (
        SELECT computed.*
        FROM unnest(v_weeks) AS listed (week)
        CROSS JOIN LATERAL jsonb_to_recordset(v_muscle_weeks -> to_char(listed.week, 'YYYY-MM-DD')) AS computed (
            muscle text, week_start date, iso_week text, sets numeric, primary_sets integer, secondary_sets integer,
            working_volume_kg numeric, total_volume_kg numeric, effective_volume_kg numeric
        )
    ), differing AS (
        SELECT computed.*
        FROM computed
        LEFT JOIN public.user_muscle_stats_weekly AS published
            ON published.user_id = v_run.user_id AND published.muscle = ANY (v_muscles)
            AND published.week_start = ANY (v_weeks) AND published.muscle = computed.muscle AND published.week_start = computed.week_start
        WHERE published.user_id IS NULL
            OR (
                published.iso_week, published.sets, published.primary_sets, published.secondary_sets,
                published.working_volume_kg, published.total_volume_kg, published.effective_volume_kg
            ) IS DISTINCT FROM (
                computed.iso_week, computed.sets, computed.primary_sets, computed.secondary_sets,
                computed.working_volume_kg, computed.total_volume_kg, computed.effective_volume_kg
            )
    ), written AS (
        INSERT INTO public.user_muscle_stats_weekly (
            user_id, generation,
            muscle, week_start, iso_week, sets, primary_sets, secondary_sets,
            working_volume_kg, total_volume_kg, effective_volume_kg
        )
        SELECT v_run.user_id, v_run.generation,
            differing.muscle, differing.week_start, differing.iso_week, differing.sets, differing.primary_sets, differing.secondary_sets,
            differing.working_volume_kg, differing.total_volume_kg, differing.effective_volume_kg
        FROM differing
        ON CONFLICT (user_id, muscle, week_start) DO UPDATE SET
            generation = excluded.generation,
            iso_week = excluded.iso_week, sets = excluded.sets, primary_sets = excluded.primary_sets,
            secondary_sets = excluded.secondary_sets, working_volume_kg = excluded.working_volume_kg,
            total_volume_kg = excluded.total_volume_kg, effective_volume_kg = excluded.effective_volume_kg
        RETURNING 1
    ), vanished AS (
        DELETE FROM public.user_muscle_stats_weekly AS published
        WHERE published.user_id = v_run.user_id
            AND published.muscle = ANY (v_muscles)
            AND published.week_start = ANY (v_weeks)
            AND NOT EXISTS (SELECT FROM computed WHERE computed.muscle = published.muscle AND computed.week_start = published.week_start)
        RETURNING 1
    )
    SELECT v_computed + (SELECT count(*) FROM computed), v_changed + (SELECT count(*) FROM written),
        v_deleted + (SELECT count(*) FROM vanished)
    INTO v_computed, v_changed, v_deleted;

    WITH computed AS MATERIALIZED (
        SELECT *
        FROM jsonb_to_record(v_document -> 'summary') AS computed (
            workouts integer, training_days integer, exercises integer, sets integer,
            working_set_rows integer, reps bigint, total_reps bigint, total_volume_kg numeric,
            working_volume_kg numeric, effective_volume_kg numeric, first_performed_on date,
            last_performed_on date, last_training_week date, last_streak_weeks integer,
            longest_streak_weeks integer, longest_streak_started_on date, monthly jsonb
        )
    ), differing AS (
        SELECT computed.*
        FROM computed
        LEFT JOIN public.user_stats_summary AS published
            ON published.user_id = v_run.user_id
        WHERE published.user_id IS NULL
            OR (
                published.workouts, published.training_days, published.exercises, published.sets,
                published.working_set_rows, published.reps, published.total_reps, published.total_volume_kg,
                published.working_volume_kg, published.effective_volume_kg, published.first_performed_on,
                published.last_performed_on, published.last_training_week, published.last_streak_weeks,
                published.longest_streak_weeks, published.longest_streak_started_on, published.monthly
            ) IS DISTINCT FROM (
                computed.workouts, computed.training_days, computed.exercises, computed.sets,
                computed.working_set_rows, computed.reps, computed.total_reps, computed.total_volume_kg,
                computed.working_volume_kg, computed.effective_volume_kg, computed.first_performed_on,
                computed.last_performed_on, computed.last_training_week, computed.last_streak_weeks,
                computed.longest_streak_weeks, computed.longest_streak_started_on, computed.monthly
            )
    ), written AS (
        INSERT INTO public.user_stats_summary (
            user_id, generation,
            workouts, training_days, exercises, sets, working_set_rows, reps, total_reps, total_volume_kg,
            working_volume_kg, effective_volume_kg, first_performed_on, last_performed_on,
            last_training_week, last_streak_weeks, longest_streak_weeks, longest_streak_started_on, monthly
        )
        SELECT v_run.user_id, v_run.generation,
            differing.workouts, differing.training_days, differing.exercises, differing.sets,
            differing.working_set_rows, differing.reps, differing.total_reps, differing.total_volume_kg,
            differing.working_volume_kg, differing.effective_volume_kg, differing.first_performed_on,
            differing.last_performed_on, differing.last_training_week, differing.last_streak_weeks,
            differing.longest_streak_weeks, differing.longest_streak_started_on, differing.monthly
        FROM differing
        ON CONFLICT (user_id) DO UPDATE SET
            generation = excluded.generation,
            workouts = excluded.workouts, training_days = excluded.training_days,
            exercises = excluded.exercises, sets = excluded.sets,
            working_set_rows = excluded.working_set_rows, reps = excluded.reps,
            total_reps = excluded.total_reps, total_volume_kg = excluded.total_volume_kg,
            working_volume_kg = excluded.working_volume_kg,
            effective_volume_kg = excluded.effective_volume_kg,
            first_performed_on = excluded.first_performed_on, last_performed_on = excluded.last_performed_on,
            last_training_week = excluded.last_training_week, last_streak_weeks = excluded.last_streak_weeks,
            longest_streak_weeks = excluded.longest_streak_weeks,
            longest_streak_started_on = excluded.longest_streak_started_on, monthly = excluded.monthly
        RETURNING 1
    )
    SELECT v_computed + 1, v_changed + (SELECT count(*) FROM written) INTO v_computed, v_changed;

    -- The rows below refer to exercises. Renaming or deleting one locks it and marks its user afterwards; taking the exercises
    -- before the state row keeps everybody in that order. The other order ended in deadlocks.
    PERFORM FROM public.exercises AS exercise
    WHERE exercise.user_id = v_run.user_id
        AND exercise.id = ANY (v_exercise_ids || ARRAY(
            SELECT (listed.entry ->> 'exercise_id')::uuid FROM jsonb_array_elements(v_document -> 'exercises') AS listed (entry)))
    ORDER BY exercise.id
    FOR KEY SHARE;
    -- From here on a save of this user waits.
    PERFORM FROM public.user_stats_projection_state AS state WHERE state.user_id = v_run.user_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the state row of the user is gone' USING ERRCODE = 'no_data_found';
    END IF;

    WITH computed AS MATERIALIZED (
        SELECT *
        FROM jsonb_to_recordset(v_document -> 'exercises') AS computed (
            exercise_id uuid, exercise_name text, sets integer, working_set_rows integer,
            warmup_sets integer, attempts integer, suspect_sets integer, reps bigint, total_reps bigint, working_duration_seconds bigint,
            working_volume_kg numeric, total_volume_kg numeric, effective_volume_kg numeric,
            best_e1rm_kg numeric, best_e1rm_formula text, best_e1rm_workout_id uuid,
            best_e1rm_position integer, best_e1rm_on date, heaviest_kg numeric, heaviest_reps integer,
            heaviest_workout_id uuid, heaviest_position integer, heaviest_on date,
            best_set_volume_kg numeric, best_set_kg numeric, best_set_reps integer, best_set_workout_id uuid,
            best_set_position integer, best_set_on date, most_reps integer, most_reps_workout_id uuid,
            most_reps_position integer, most_reps_on date, least_assistance_kg numeric,
            least_assistance_workout_id uuid, least_assistance_position integer, least_assistance_on date,
            first_performed_on date, last_performed_on date, training_days integer, training_weeks integer,
            days_per_week numeric, records jsonb
        )
    ), differing AS (
        SELECT computed.*
        FROM computed
        LEFT JOIN public.user_exercise_stats AS published
            ON published.user_id = v_run.user_id AND published.exercise_id = ANY (v_exercise_ids)
            AND published.exercise_id = computed.exercise_id
        WHERE published.user_id IS NULL
            OR (
                published.exercise_name, published.sets, published.working_set_rows, published.warmup_sets,
                published.attempts, published.suspect_sets, published.reps, published.total_reps, published.working_duration_seconds,
                published.working_volume_kg, published.total_volume_kg, published.effective_volume_kg,
                published.best_e1rm_kg, published.best_e1rm_formula, published.best_e1rm_workout_id,
                published.best_e1rm_position, published.best_e1rm_on, published.heaviest_kg,
                published.heaviest_reps, published.heaviest_workout_id, published.heaviest_position,
                published.heaviest_on, published.best_set_volume_kg, published.best_set_kg,
                published.best_set_reps, published.best_set_workout_id, published.best_set_position,
                published.best_set_on, published.most_reps, published.most_reps_workout_id,
                published.most_reps_position, published.most_reps_on, published.least_assistance_kg,
                published.least_assistance_workout_id, published.least_assistance_position,
                published.least_assistance_on, published.first_performed_on, published.last_performed_on,
                published.training_days, published.training_weeks, published.days_per_week, published.records
            ) IS DISTINCT FROM (
                computed.exercise_name, computed.sets, computed.working_set_rows, computed.warmup_sets,
                computed.attempts, computed.suspect_sets, computed.reps, computed.total_reps, computed.working_duration_seconds,
                computed.working_volume_kg, computed.total_volume_kg, computed.effective_volume_kg,
                computed.best_e1rm_kg, computed.best_e1rm_formula, computed.best_e1rm_workout_id,
                computed.best_e1rm_position, computed.best_e1rm_on, computed.heaviest_kg,
                computed.heaviest_reps, computed.heaviest_workout_id, computed.heaviest_position,
                computed.heaviest_on, computed.best_set_volume_kg, computed.best_set_kg,
                computed.best_set_reps, computed.best_set_workout_id, computed.best_set_position,
                computed.best_set_on, computed.most_reps, computed.most_reps_workout_id,
                computed.most_reps_position, computed.most_reps_on, computed.least_assistance_kg,
                computed.least_assistance_workout_id, computed.least_assistance_position,
                computed.least_assistance_on, computed.first_performed_on, computed.last_performed_on,
                computed.training_days, computed.training_weeks, computed.days_per_week, computed.records
            )
    ), written AS (
        INSERT INTO public.user_exercise_stats (
            user_id, generation,
            exercise_id, exercise_name, sets, working_set_rows, warmup_sets, attempts, suspect_sets, reps,
            total_reps, working_duration_seconds, working_volume_kg, total_volume_kg, effective_volume_kg, best_e1rm_kg,
            best_e1rm_formula, best_e1rm_workout_id, best_e1rm_position, best_e1rm_on, heaviest_kg,
            heaviest_reps, heaviest_workout_id, heaviest_position, heaviest_on, best_set_volume_kg,
            best_set_kg, best_set_reps, best_set_workout_id, best_set_position, best_set_on, most_reps,
            most_reps_workout_id, most_reps_position, most_reps_on, least_assistance_kg,
            least_assistance_workout_id, least_assistance_position, least_assistance_on, first_performed_on,
            last_performed_on, training_days, training_weeks, days_per_week, records
        )
        SELECT v_run.user_id, v_run.generation,
            differing.exercise_id, differing.exercise_name, differing.sets, differing.working_set_rows,
            differing.warmup_sets, differing.attempts, differing.suspect_sets, differing.reps,
            differing.total_reps, differing.working_duration_seconds, differing.working_volume_kg, differing.total_volume_kg,
            differing.effective_volume_kg, differing.best_e1rm_kg, differing.best_e1rm_formula,
            differing.best_e1rm_workout_id, differing.best_e1rm_position, differing.best_e1rm_on,
            differing.heaviest_kg, differing.heaviest_reps, differing.heaviest_workout_id,
            differing.heaviest_position, differing.heaviest_on, differing.best_set_volume_kg,
            differing.best_set_kg, differing.best_set_reps, differing.best_set_workout_id,
            differing.best_set_position, differing.best_set_on, differing.most_reps,
            differing.most_reps_workout_id, differing.most_reps_position, differing.most_reps_on,
            differing.least_assistance_kg, differing.least_assistance_workout_id,
            differing.least_assistance_position, differing.least_assistance_on, differing.first_performed_on,
            differing.last_performed_on, differing.training_days, differing.training_weeks, differing.days_per_week, differing.records
        FROM differing
        ON CONFLICT (user_id, exercise_id) DO UPDATE SET
            generation = excluded.generation,
            exercise_name = excluded.exercise_name, sets = excluded.sets,
            working_set_rows = excluded.working_set_rows, warmup_sets = excluded.warmup_sets,
            attempts = excluded.attempts, suspect_sets = excluded.suspect_sets, reps = excluded.reps,
            total_reps = excluded.total_reps, working_duration_seconds = excluded.working_duration_seconds, working_volume_kg = excluded.working_volume_kg,
            total_volume_kg = excluded.total_volume_kg, effective_volume_kg = excluded.effective_volume_kg,
            best_e1rm_kg = excluded.best_e1rm_kg, best_e1rm_formula = excluded.best_e1rm_formula,
            best_e1rm_workout_id = excluded.best_e1rm_workout_id,
            best_e1rm_position = excluded.best_e1rm_position, best_e1rm_on = excluded.best_e1rm_on,
            heaviest_kg = excluded.heaviest_kg, heaviest_reps = excluded.heaviest_reps,
            heaviest_workout_id = excluded.heaviest_workout_id,
            heaviest_position = excluded.heaviest_position, heaviest_on = excluded.heaviest_on,
            best_set_volume_kg = excluded.best_set_volume_kg, best_set_kg = excluded.best_set_kg,
            best_set_reps = excluded.best_set_reps, best_set_workout_id = excluded.best_set_workout_id,
            best_set_position = excluded.best_set_position, best_set_on = excluded.best_set_on,
            most_reps = excluded.most_reps, most_reps_workout_id = excluded.most_reps_workout_id,
            most_reps_position = excluded.most_reps_position, most_reps_on = excluded.most_reps_on,
            least_assistance_kg = excluded.least_assistance_kg,
            least_assistance_workout_id = excluded.least_assistance_workout_id,
            least_assistance_position = excluded.least_assistance_position,
            least_assistance_on = excluded.least_assistance_on,
            first_performed_on = excluded.first_performed_on, last_performed_on = excluded.last_performed_on,
            training_days = excluded.training_days, training_weeks = excluded.training_weeks,
            days_per_week = excluded.days_per_week, records = excluded.records
        RETURNING 1
    ), vanished AS (
        DELETE FROM public.user_exercise_stats AS published
        WHERE published.user_id = v_run.user_id
            AND published.exercise_id = ANY (v_exercise_ids)
            AND NOT EXISTS (SELECT FROM computed WHERE computed.exercise_id = published.exercise_id)
        RETURNING 1
    )
    SELECT v_computed + (SELECT count(*) FROM computed), v_changed + (SELECT count(*) FROM written),
        v_deleted + (SELECT count(*) FROM vanished)
    INTO v_computed, v_changed, v_deleted;

    -- The order defence is the trigger on this update: it raises 55000, and nothing of the above stays.
    UPDATE public.user_stats_projection_state AS state
    SET applied_generation = v_run.generation,
        applied_at = clock_timestamp(),
        definition_version = v_definition_version,
        live_run_id = NULL
    WHERE state.user_id = v_run.user_id;
    DELETE FROM public.user_exercise_stats_dirty AS dirty
    WHERE dirty.user_id = v_run.user_id AND dirty.generation <= v_run.generation;
    UPDATE public.user_exercise_stats_refresh_jobs AS job
    SET status = 'done', error_code = '', error_message = '', finished_at = clock_timestamp(), updated_at = clock_timestamp()
    WHERE job.id = v_run.job_id AND job.status IN ('running', 'pending');
    -- A job that an operator is just resuming is passed over: the operator has its row and waits for the user's state row. Once
    -- resumed it is pending below the applied generation, and the next claim absorbs it.
    WITH older AS MATERIALIZED (
        SELECT failed.id
        FROM public.user_exercise_stats_refresh_jobs AS failed
        WHERE failed.user_id = v_run.user_id AND failed.status = 'failed' AND failed.absorbed_into_job_id IS NULL
            AND failed.generation < v_run.generation
        FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE public.user_exercise_stats_refresh_jobs AS job
    SET status = 'absorbed', absorbed_into_job_id = v_run.job_id, updated_at = clock_timestamp()
    FROM older
    WHERE job.id = older.id;
    UPDATE public.alert_outbox AS alert
    SET resolved_at = clock_timestamp()
    WHERE alert.kind IN ('refresh_exhausted', 'publish_failed') AND alert.subject = v_run.user_id::text AND alert.resolved_at IS NULL;
    DELETE FROM tidemark.staged_results AS staged WHERE staged.run_id = p_run_id;

    v_result := ROW('published', v_changed, v_computed - v_changed, v_deleted);
    UPDATE public.user_stats_projection_runs AS run
    SET phase = 'published',
        published_at = clock_timestamp(),
        publish_ms = ceil(extract(epoch FROM clock_timestamp() - v_began) * 1000),
        rows_changed = v_result.rows_changed,
        rows_unchanged = v_result.rows_unchanged,
        rows_deleted = v_result.rows_deleted
    WHERE run.id = p_run_id;
    RETURN v_result;
END
$$;
