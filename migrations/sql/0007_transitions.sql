-- The transitions of a run, as docs/LEASES.md describes them: lock first, then read the clock, then decide.

-- Sets the limits of the transaction it runs in to the function's budget, or to p_limit_ms (what the invocation itself
-- has left) where that is smaller, and returns the limit that holds, in milliseconds.
CREATE FUNCTION tidemark.begin_step_v1(p_function text, p_limit_ms integer DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_budget_ms integer;
BEGIN
    SELECT CASE p_function
            WHEN 'claim' THEN settings.claim_timeout_ms
            WHEN 'compute' THEN settings.compute_timeout_ms
            WHEN 'publish' THEN settings.publish_timeout_ms
            -- The queue's transitions; what a handler does in between has a limit of its own.
            WHEN 'work' THEN settings.claim_timeout_ms
        END
    INTO v_budget_ms
    FROM public.stats_projection_worker_settings AS settings;
    IF v_budget_ms IS NULL THEN
        RAISE EXCEPTION 'no budget is known for this function' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    v_budget_ms := greatest(least(v_budget_ms, p_limit_ms), 1);
    PERFORM set_config('statement_timeout', v_budget_ms::text, true);
    -- A worker frozen in this transaction gives its locks back soon after its budget.
    PERFORM set_config('idle_in_transaction_session_timeout', (v_budget_ms + 1000)::text, true);
    RETURN v_budget_ms;
END
$$;

-- Notes that a function ticks, at most every five seconds, and never waits for another invocation that notes the same.
-- Returns whether it was noted.
CREATE FUNCTION tidemark.note_tick(p_function text, p_outcome text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM tidemark.ticks
        WHERE function_name = p_function AND last_started_at > clock_timestamp() - interval '5 seconds'
    ) THEN
        RETURN false;
    END IF;
    PERFORM FROM tidemark.ticks WHERE function_name = p_function FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE tidemark.ticks
    SET last_started_at = clock_timestamp(),
        last_ended_at = CASE WHEN p_outcome = '' THEN last_ended_at ELSE clock_timestamp() END,
        last_outcome = CASE WHEN p_outcome = '' THEN last_outcome ELSE p_outcome END
    WHERE function_name = p_function;
    RETURN true;
END
$$;

-- Notes how an invocation that did something ended.
CREATE FUNCTION tidemark.tick_end_v1(p_function text, p_outcome text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM FROM tidemark.ticks WHERE function_name = p_function FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE tidemark.ticks
        SET last_started_at = coalesce(last_started_at, clock_timestamp()),
            last_ended_at = clock_timestamp(),
            last_outcome = pg_catalog.left(p_outcome, 40)
        WHERE function_name = p_function;
    END IF;
END
$$;

-- Folds the tally's rows into one. Bounded, so that a tick after a long pause stays within its budget.
CREATE FUNCTION tidemark.fold_tally() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    WITH picked AS MATERIALIZED (
        SELECT ctid FROM tidemark.queue_tally LIMIT 20000 FOR UPDATE SKIP LOCKED
    ), taken AS (
        DELETE FROM tidemark.queue_tally AS tally
        USING picked
        WHERE tally.ctid = picked.ctid
        RETURNING tally.pending_jobs, tally.pending_users, tally.stale_users
    )
    INSERT INTO tidemark.queue_tally (pending_jobs, pending_users, stale_users)
    SELECT coalesce(sum(pending_jobs), 0), coalesce(sum(pending_users), 0), coalesce(sum(stale_users), 0)
    FROM taken
    HAVING count(*) > 0;
END
$$;

-- Raises an alert, in the caller's transaction. One that is open already is counted, not repeated.
CREATE FUNCTION tidemark.raise_alert(p_kind text, p_subject text, p_error_code text, p_number bigint DEFAULT 1) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO public.alert_outbox AS alert (kind, subject, error_code, occurrences)
    VALUES (p_kind, p_subject, p_error_code, p_number)
    ON CONFLICT (kind, subject) WHERE resolved_at IS NULL
    DO UPDATE SET occurrences = alert.occurrences + p_number,
                  last_raised_at = clock_timestamp(),
                  error_code = excluded.error_code;
$$;

-- Ends a live run as failed and decides what becomes of its job. The caller holds the locks of the run and of the user's
-- state row. Returns 'retry' or 'exhausted'.
CREATE FUNCTION tidemark.end_failed(
    p_run public.user_stats_projection_runs, p_error_code text, p_error_message text, p_with_backoff boolean
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_settings public.stats_projection_worker_settings;
    v_exhausted boolean;
    v_delay_seconds double precision := 0;
BEGIN
    SELECT * INTO v_settings FROM public.stats_projection_worker_settings;
    v_exhausted := p_run.attempt >= v_settings.max_attempts;
    IF p_with_backoff AND NOT v_exhausted THEN
        -- Doubles with each failure up to an hour (or the setting, where that is longer). The exponent is clamped, not
        -- the result. Jitter only lengthens: the setting is a lower bound.
        v_delay_seconds := least(
            v_settings.backoff_seconds * power(2, least(p_run.attempt - 1, 12)),
            greatest(3600, v_settings.backoff_seconds));
        IF p_run.attempt > 1 THEN
            v_delay_seconds := v_delay_seconds * (1 + random() * 0.25);
        END IF;
    END IF;

    UPDATE public.user_stats_projection_runs
    SET phase = 'failed',
        failed_at = clock_timestamp(),
        error_code = left(p_error_code, 100),
        error_message = left(p_error_message, 2000),
        retry_not_before = CASE
            WHEN v_delay_seconds > 0 THEN clock_timestamp() + make_interval(secs => v_delay_seconds)
        END
    WHERE id = p_run.id;
    -- Recording a failure must not wait for a table that has nothing to say about it.
    IF EXISTS (SELECT FROM tidemark.staged_results WHERE run_id = p_run.id) THEN
        DELETE FROM tidemark.staged_results WHERE run_id = p_run.id;
    END IF;

    UPDATE public.user_exercise_stats_refresh_jobs
    SET status = CASE WHEN v_exhausted THEN 'failed' ELSE 'pending' END,
        error_code = left(p_error_code, 100),
        error_message = left(p_error_message, 2000),
        finished_at = CASE WHEN v_exhausted THEN clock_timestamp() END,
        updated_at = clock_timestamp()
    WHERE id = p_run.job_id AND status IN ('running', 'pending');

    IF v_exhausted THEN
        PERFORM tidemark.raise_alert('refresh_exhausted', p_run.user_id::text, left(p_error_code, 100));
        RETURN 'exhausted';
    END IF;
    -- What was computed could not be published: worth knowing before the attempts are used up.
    IF p_run.phase = 'publishing' THEN
        PERFORM tidemark.raise_alert('publish_failed', p_run.user_id::text, left(p_error_code, 100));
    END IF;
    RETURN 'retry';
END
$$;

-- Whether a claim could take somebody now; what compute and publish may wait for.
--
-- Sequential scans are off here and in everything that looks for work at each tick: after a bulk change, before statistics
-- are gathered anew, the server scanned 120,000 state rows (1,767 pages) to learn that nobody's backoff had ended. The
-- partial indexes answer in a few pages. Compilation is off because switching a method off makes estimated costs huge.
CREATE FUNCTION tidemark.somebody_is_claimable() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT EXISTS (
        SELECT FROM public.user_stats_projection_state
        WHERE pending_generation IS NOT NULL AND live_run_id IS NULL AND retry_not_before IS NULL
    ) AND (SELECT claim_enabled FROM public.stats_projection_worker_settings)
$$;

-- Recovery: runs whose lease has expired and whose row nobody holds. A held row belongs to a worker that lives. A user who
-- is just saving is passed over until the next claim.
CREATE FUNCTION tidemark.recover_expired(OUT recovered integer, OUT exhausted integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_run public.user_stats_projection_runs;
    v_outcome text;
BEGIN
    recovered := 0;
    exhausted := 0;
    FOR v_run IN
        SELECT run.*
        FROM public.user_stats_projection_runs AS run
        JOIN public.user_stats_projection_state AS state ON state.user_id = run.user_id
        -- Asked for by id: the wanted order alone led the server through the primary key, past every run of the history.
        WHERE run.id = ANY (ARRAY(
                SELECT expired.id
                FROM public.user_stats_projection_runs AS expired
                WHERE expired.phase IN ('claimed', 'computing', 'computed', 'publishing')
                    AND expired.lease_expires_at <= clock_timestamp()
            ))
            AND run.phase IN ('claimed', 'computing', 'computed', 'publishing')
            AND run.lease_expires_at <= clock_timestamp()
        ORDER BY run.id
        FOR NO KEY UPDATE OF run, state SKIP LOCKED
    LOOP
        recovered := recovered + 1;
        -- A run with an error was handed back by run_fail_v1: its failure has a backoff like any other.
        IF v_run.error_code <> '' THEN
            v_outcome := tidemark.end_failed(v_run, v_run.error_code, v_run.error_message, true);
        ELSE
            v_outcome := tidemark.end_failed(v_run, 'lease_expired', 'the worker did not finish within its lease', false);
        END IF;
        IF v_outcome = 'exhausted' THEN
            exhausted := exhausted + 1;
        END IF;
    END LOOP;
END
$$;

-- Of the users about to be claimed, leaves out those whose newest job cannot become a run: its attempts are used up
-- (max_attempts was lowered, or the job was put back without resetting them), or it is the rest of a very long backlog
-- whose generation has been published meanwhile. The caller holds the users' state rows.
CREATE FUNCTION tidemark.put_aside(INOUT user_ids uuid[], OUT exhausted integer, OUT absorbed integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_newest record;
    v_job_id bigint;
    v_folded integer;
BEGIN
    exhausted := 0;
    absorbed := 0;
    FOR v_newest IN
        SELECT newest.*, newest.attempts >= settings.max_attempts AS is_exhausted
        FROM unnest(user_ids) AS candidate (user_id)
        JOIN public.user_stats_projection_state AS state ON state.user_id = candidate.user_id
        CROSS JOIN public.stats_projection_worker_settings AS settings
        CROSS JOIN LATERAL (
            SELECT pending.id, pending.user_id, pending.generation, pending.attempts
            FROM public.user_exercise_stats_refresh_jobs AS pending
            WHERE pending.user_id = candidate.user_id AND pending.status = 'pending'
            ORDER BY pending.generation DESC
            LIMIT 1
        ) AS newest
        WHERE newest.attempts >= settings.max_attempts
            OR (newest.attempts = 0 AND newest.generation < state.applied_generation)
    LOOP
        IF v_newest.is_exhausted THEN
            UPDATE public.user_exercise_stats_refresh_jobs AS job
            SET status = 'failed',
                error_code = CASE WHEN job.error_code = '' THEN 'attempts_exhausted' ELSE job.error_code END,
                error_message = CASE WHEN job.error_message = '' THEN 'its attempts are used up' ELSE job.error_message END,
                finished_at = clock_timestamp(),
                updated_at = clock_timestamp()
            WHERE job.id = v_newest.id;
            PERFORM tidemark.raise_alert('refresh_exhausted', v_newest.user_id::text, 'attempts_exhausted');
            user_ids := array_remove(user_ids, v_newest.user_id);
            exhausted := exhausted + 1;
            CONTINUE;
        END IF;
        -- Only what a run has really published covers a job. An applied_generation that somebody raised by hand does not:
        -- such a job runs into the order defence and is seen.
        SELECT run.job_id INTO v_job_id
        FROM public.user_stats_projection_runs AS run
        WHERE run.user_id = v_newest.user_id AND run.phase = 'published' AND run.generation > v_newest.generation
        ORDER BY run.generation DESC
        LIMIT 1;
        CONTINUE WHEN NOT FOUND;
        UPDATE public.user_exercise_stats_refresh_jobs AS job
        SET status = 'absorbed', absorbed_into_job_id = v_job_id, finished_at = clock_timestamp(), updated_at = clock_timestamp()
        FROM (
            SELECT waiting.id
            FROM public.user_exercise_stats_refresh_jobs AS waiting
            WHERE waiting.user_id = v_newest.user_id AND waiting.status = 'pending' AND waiting.attempts = 0
                AND waiting.generation <= v_newest.generation
            LIMIT 5000
        ) AS leftover
        WHERE job.id = leftover.id;
        GET DIAGNOSTICS v_folded = ROW_COUNT;
        absorbed := absorbed + v_folded;
        user_ids := array_remove(user_ids, v_newest.user_id);
    END LOOP;
END
$$;

-- Gives runs to users: absorbs each user's pending jobs into the newest of them and mints a lease for it. The caller
-- holds the claim gate.
CREATE FUNCTION tidemark.claim_users(p_worker_id uuid, p_free integer, OUT claimed integer, OUT absorbed integer, OUT exhausted integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_settings public.stats_projection_worker_settings;
    v_user_ids uuid[];
    v_passed integer;
BEGIN
    SELECT * INTO v_settings FROM public.stats_projection_worker_settings;
    WITH candidate AS MATERIALIZED (
        SELECT state.user_id
        FROM public.user_stats_projection_state AS state
        WHERE state.pending_generation IS NOT NULL AND state.live_run_id IS NULL AND state.retry_not_before IS NULL
        ORDER BY state.pending_priority, state.pending_generation
        LIMIT p_free
        FOR NO KEY UPDATE SKIP LOCKED
    )
    SELECT array_agg(user_id) INTO v_user_ids FROM candidate;

    SELECT aside.exhausted, aside.absorbed, aside.user_ids INTO exhausted, absorbed, v_user_ids
    FROM tidemark.put_aside(v_user_ids) AS aside;

    WITH newest AS MATERIALIZED (
        SELECT job.id, job.user_id
        FROM unnest(v_user_ids) AS candidate (user_id)
        CROSS JOIN LATERAL (
            SELECT pending.id, pending.user_id
            FROM public.user_exercise_stats_refresh_jobs AS pending
            WHERE pending.user_id = candidate.user_id AND pending.status = 'pending'
            ORDER BY pending.generation DESC
            LIMIT 1
        ) AS job
    ), older AS MATERIALIZED (
        -- Bounded: a user with a million waiting jobs is worked off over several claims.
        SELECT pending.id, newest.id AS newest_id
        FROM newest
        CROSS JOIN LATERAL (
            SELECT waiting.id
            FROM public.user_exercise_stats_refresh_jobs AS waiting
            WHERE waiting.user_id = newest.user_id AND waiting.status = 'pending' AND waiting.id <> newest.id
            ORDER BY waiting.generation
            LIMIT 5000
        ) AS pending
    ), folded AS (
        UPDATE public.user_exercise_stats_refresh_jobs AS job
        SET status = 'absorbed', absorbed_into_job_id = older.newest_id, finished_at = clock_timestamp(), updated_at = clock_timestamp()
        FROM older
        WHERE job.id = older.id AND job.status = 'pending'
        RETURNING job.id
    ), started AS (
        UPDATE public.user_exercise_stats_refresh_jobs AS job
        SET status = 'running', attempts = job.attempts + 1, started_at = clock_timestamp(), finished_at = NULL,
            updated_at = clock_timestamp()
        FROM newest
        WHERE job.id = newest.id AND job.status = 'pending'
        RETURNING job.id, job.user_id, job.generation, job.attempts
    ), leased AS (
        INSERT INTO public.user_stats_projection_runs (user_id, job_id, attempt, generation, worker_id, lease_expires_at)
        SELECT started.user_id, started.id, started.attempts, started.generation, p_worker_id,
            clock_timestamp() + make_interval(secs => v_settings.lease_seconds)
        FROM started
        ORDER BY started.generation
        RETURNING id
    )
    SELECT (SELECT count(*) FROM leased), (SELECT count(*) FROM folded) INTO claimed, v_passed;
    absorbed := absorbed + v_passed;
END
$$;

CREATE TYPE tidemark.claim_result AS (
    outcome text,
    claimed integer,
    recovered integer,
    absorbed integer,
    exhausted integer,
    -- Users wait although every slot is taken.
    slots_full boolean
);

-- One pass of the claim function: recover, then fill. Only the holder of the claim gate gets that far; an idle tick finds
-- out by reading alone that there is nothing to do.
CREATE FUNCTION tidemark.claim_v1(p_worker_id uuid, p_planned_at timestamptz DEFAULT NULL) RETURNS tidemark.claim_result
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_result tidemark.claim_result := ROW('idle', 0, 0, 0, 0, false);
    v_settings public.stats_projection_worker_settings;
    -- In a variable, because a volatile function is never the bound of an index scan: every user in backoff was read.
    v_now timestamptz := clock_timestamp();
    v_live integer;
    v_expired boolean;
    v_due boolean;
    v_waiting boolean;
    v_rebuild boolean := false;
BEGIN
    IF p_planned_at < clock_timestamp() - interval '5 seconds' THEN
        v_result.outcome := 'late';
        RETURN v_result;
    END IF;
    SELECT * INTO v_settings FROM public.stats_projection_worker_settings;
    IF NOT v_settings.claim_enabled THEN
        v_result.outcome := 'paused';
    ELSE
        SELECT count(*), coalesce(bool_or(lease_expires_at <= clock_timestamp()), false) INTO v_live, v_expired
        FROM public.user_stats_projection_runs
        WHERE phase IN ('claimed', 'computing', 'computed', 'publishing');
        v_due := EXISTS (
            SELECT FROM public.user_stats_projection_state
            WHERE retry_not_before IS NOT NULL AND retry_not_before <= v_now);
        v_waiting := v_due OR EXISTS (
            SELECT FROM public.user_stats_projection_state
            WHERE pending_generation IS NOT NULL AND live_run_id IS NULL AND retry_not_before IS NULL);
        v_result.slots_full := v_waiting AND v_live >= v_settings.max_active;
        v_rebuild := tidemark.rebuild_is_due();
    END IF;

    IF v_result.outcome = 'paused' OR NOT (v_expired OR v_due OR v_rebuild OR (v_waiting AND NOT v_result.slots_full)) THEN
        -- Losing this note in a crash harms nobody, so that it need not wait for the disk.
        PERFORM set_config('synchronous_commit', 'off', true);
        IF tidemark.note_tick('claim', v_result.outcome) THEN
            PERFORM tidemark.fold_tally();
            PERFORM tidemark.watch();
        END IF;
        RETURN v_result;
    END IF;

    PERFORM FROM tidemark.claim_gate FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        v_result.outcome := 'busy';
        RETURN v_result;
    END IF;
    IF tidemark.note_tick('claim', '') THEN
        PERFORM tidemark.fold_tally();
    END IF;

    SELECT recovery.recovered, recovery.exhausted INTO v_result.recovered, v_result.exhausted
    FROM tidemark.recover_expired() AS recovery;

    v_now := clock_timestamp();
    WITH due AS MATERIALIZED (
        SELECT user_id
        FROM public.user_stats_projection_state
        WHERE retry_not_before IS NOT NULL AND retry_not_before <= v_now
        ORDER BY retry_not_before
        LIMIT 1000
        FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE public.user_stats_projection_state AS state
    SET retry_not_before = NULL
    FROM due
    WHERE state.user_id = due.user_id;

    IF v_rebuild THEN
        PERFORM tidemark.rebuild_step();
    END IF;

    -- Counted under the gate: nobody else can add a live run now.
    SELECT count(*) INTO v_live
    FROM public.user_stats_projection_runs
    WHERE phase IN ('claimed', 'computing', 'computed', 'publishing');
    IF v_live < v_settings.max_active THEN
        SELECT filled.claimed, filled.absorbed, v_result.exhausted + filled.exhausted
        INTO v_result.claimed, v_result.absorbed, v_result.exhausted
        FROM tidemark.claim_users(p_worker_id, v_settings.max_active - v_live) AS filled;
    END IF;
    v_result.slots_full := v_live + v_result.claimed >= v_settings.max_active AND tidemark.somebody_is_claimable();
    IF v_result.claimed + v_result.recovered + v_result.absorbed + v_result.exhausted > 0 THEN
        v_result.outcome := 'worked';
    END IF;
    RETURN v_result;
END
$$;

CREATE TYPE tidemark.taken_run AS (
    -- 'taken', 'idle' (nothing to take and nothing on its way), 'waiting' (something is on its way), 'paused', 'late', 'outdated' (the
    -- caller computes by an older definition than somebody else has told)
    outcome text,
    run_id bigint,
    user_id uuid,
    attempt integer,
    generation bigint,
    lease_token uuid,
    budget_ms integer
);

-- Takes the claimed run with the lowest generation into the phase 'computing'. The caller tells the version of its formulas: whose is
-- older than the newest told gets no run.
CREATE FUNCTION tidemark.compute_take_v1(
    p_worker_id uuid, p_planned_at timestamptz DEFAULT NULL, p_definition_version integer DEFAULT NULL
) RETURNS tidemark.taken_run
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_taken tidemark.taken_run;
    v_settings public.stats_projection_worker_settings;
    v_run public.user_stats_projection_runs;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT * INTO v_settings FROM public.stats_projection_worker_settings;
    v_taken.budget_ms := v_settings.compute_timeout_ms;
    IF p_planned_at < clock_timestamp() - interval '5 seconds' THEN
        v_taken.outcome := 'late';
        RETURN v_taken;
    END IF;
    IF NOT v_settings.compute_enabled THEN
        PERFORM tidemark.note_tick('compute', 'paused');
        v_taken.outcome := 'paused';
        RETURN v_taken;
    END IF;
    SELECT run.* INTO v_run
    FROM public.user_stats_projection_runs AS run
    WHERE run.phase = 'claimed' AND run.lease_expires_at > clock_timestamp()
    ORDER BY run.generation
    LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED;
    -- Asked after the run was chosen: a run that a rebuild has made was claimed after the newer version was told.
    IF NOT tidemark.definition_is_current(p_definition_version) THEN
        PERFORM tidemark.note_tick('compute', 'outdated');
        v_taken.outcome := 'outdated';
        RETURN v_taken;
    END IF;
    IF v_run.id IS NULL OR v_run.lease_expires_at <= clock_timestamp() THEN
        v_taken.outcome := CASE WHEN tidemark.somebody_is_claimable() THEN 'waiting' ELSE 'idle' END;
        PERFORM tidemark.note_tick('compute', 'idle');
        RETURN v_taken;
    END IF;
    UPDATE public.user_stats_projection_runs AS run
    SET phase = 'computing',
        computing_at = clock_timestamp(),
        worker_id = p_worker_id,
        definition_version = p_definition_version,
        lease_expires_at = clock_timestamp() + make_interval(secs => v_settings.lease_seconds)
    WHERE run.id = v_run.id;
    PERFORM tidemark.note_tick('compute', '');
    v_taken.outcome := 'taken';
    v_taken.run_id := v_run.id;
    v_taken.user_id := v_run.user_id;
    v_taken.attempt := v_run.attempt;
    v_taken.generation := v_run.generation;
    v_taken.lease_token := v_run.lease_token;
    RETURN v_taken;
END
$$;

-- Takes the lock of a run that this worker has taken, and keeps it until the transaction ends: that is how recovery
-- knows that a worker lives. False: the lease is lost.
CREATE FUNCTION tidemark.compute_hold_v1(p_run_id bigint, p_attempt integer, p_lease_token uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_run public.user_stats_projection_runs;
BEGIN
    SELECT run.* INTO v_run FROM public.user_stats_projection_runs AS run WHERE run.id = p_run_id FOR NO KEY UPDATE;
    RETURN FOUND AND v_run.phase = 'computing' AND v_run.attempt = p_attempt AND v_run.lease_token = p_lease_token
        AND v_run.lease_expires_at > clock_timestamp();
END
$$;

-- Stores the result of a compute and moves the run to 'computed', with a whole lease for what follows. The caller has held
-- the run's lock since compute_hold_v1, so that an expiry meanwhile has given the run to nobody else.
CREATE FUNCTION tidemark.compute_stage_v1(
    p_run_id bigint, p_attempt integer, p_lease_token uuid, p_compute_ms integer, p_definition_version integer, p_document jsonb
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_run public.user_stats_projection_runs;
BEGIN
    SELECT run.* INTO v_run FROM public.user_stats_projection_runs AS run WHERE run.id = p_run_id FOR NO KEY UPDATE;
    IF NOT FOUND OR v_run.phase <> 'computing' OR v_run.attempt <> p_attempt OR v_run.lease_token <> p_lease_token THEN
        RETURN false;
    END IF;
    INSERT INTO tidemark.staged_results (run_id, definition_version, document)
    VALUES (p_run_id, p_definition_version, p_document);
    UPDATE public.user_stats_projection_runs AS run
    SET phase = 'computed',
        computed_at = clock_timestamp(),
        compute_ms = p_compute_ms,
        lease_expires_at = clock_timestamp() + make_interval(secs => settings.lease_seconds)
    FROM public.stats_projection_worker_settings AS settings
    WHERE run.id = p_run_id;
    RETURN true;
END
$$;

-- Takes the computed run with the lowest generation into the phase 'publishing'.
CREATE FUNCTION tidemark.publish_take_v1(p_worker_id uuid, p_planned_at timestamptz DEFAULT NULL) RETURNS tidemark.taken_run
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_taken tidemark.taken_run;
    v_settings public.stats_projection_worker_settings;
    v_run public.user_stats_projection_runs;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT * INTO v_settings FROM public.stats_projection_worker_settings;
    v_taken.budget_ms := v_settings.publish_timeout_ms;
    IF p_planned_at < clock_timestamp() - interval '5 seconds' THEN
        v_taken.outcome := 'late';
        RETURN v_taken;
    END IF;
    IF NOT v_settings.publish_enabled THEN
        PERFORM tidemark.note_tick('publish', 'paused');
        v_taken.outcome := 'paused';
        RETURN v_taken;
    END IF;
    SELECT run.* INTO v_run
    FROM public.user_stats_projection_runs AS run
    WHERE run.phase = 'computed' AND run.lease_expires_at > clock_timestamp()
    ORDER BY run.generation
    LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND OR v_run.lease_expires_at <= clock_timestamp() THEN
        v_taken.outcome := CASE
            WHEN EXISTS (
                SELECT FROM public.user_stats_projection_runs AS run
                WHERE run.phase IN ('claimed', 'computing') AND run.lease_expires_at > clock_timestamp()
            ) AND v_settings.compute_enabled THEN 'waiting'
            WHEN tidemark.somebody_is_claimable() AND v_settings.compute_enabled THEN 'waiting'
            ELSE 'idle'
        END;
        PERFORM tidemark.note_tick('publish', 'idle');
        RETURN v_taken;
    END IF;
    UPDATE public.user_stats_projection_runs AS run
    SET phase = 'publishing',
        publishing_at = clock_timestamp(),
        worker_id = p_worker_id,
        lease_expires_at = clock_timestamp() + make_interval(secs => v_settings.lease_seconds)
    WHERE run.id = v_run.id;
    PERFORM tidemark.note_tick('publish', '');
    v_taken.outcome := 'taken';
    v_taken.run_id := v_run.id;
    v_taken.user_id := v_run.user_id;
    v_taken.attempt := v_run.attempt;
    v_taken.generation := v_run.generation;
    v_taken.lease_token := v_run.lease_token;
    RETURN v_taken;
END
$$;

-- Records that a run failed. 'retry', 'exhausted', or 'lost' where the lease is no longer the caller's.
--
-- It never waits for the user's state row: a publish often fails because somebody holds exactly that row, and its worker has
-- little time left. The failure is then written to the run alone and its lease ends; recovery does the rest as soon as the
-- row is free.
CREATE FUNCTION tidemark.run_fail_v1(
    p_run_id bigint, p_attempt integer, p_lease_token uuid, p_error_code text, p_error_message text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_run public.user_stats_projection_runs;
BEGIN
    SELECT run.* INTO v_run FROM public.user_stats_projection_runs AS run WHERE run.id = p_run_id FOR NO KEY UPDATE;
    IF NOT FOUND OR v_run.phase NOT IN ('claimed', 'computing', 'computed', 'publishing')
        OR v_run.attempt <> p_attempt OR v_run.lease_token <> p_lease_token THEN
        RETURN 'lost';
    END IF;
    PERFORM FROM public.user_stats_projection_state WHERE user_id = v_run.user_id FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        UPDATE public.user_stats_projection_runs AS run
        SET lease_expires_at = clock_timestamp(),
            error_code = left(coalesce(nullif(p_error_code, ''), 'unknown'), 100),
            error_message = left(p_error_message, 2000)
        WHERE run.id = p_run_id;
        RETURN (
            SELECT CASE WHEN v_run.attempt >= settings.max_attempts THEN 'exhausted' ELSE 'retry' END
            FROM public.stats_projection_worker_settings AS settings);
    END IF;
    RETURN tidemark.end_failed(v_run, p_error_code, p_error_message, true);
END
$$;

-- What became of a run whose commit was cut off: its phase, if row, attempt and token still match, else 'lost'.
CREATE FUNCTION tidemark.run_phase_v1(p_run_id bigint, p_attempt integer, p_lease_token uuid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT coalesce((
        SELECT run.phase
        FROM public.user_stats_projection_runs AS run
        WHERE run.id = p_run_id AND run.attempt = p_attempt AND run.lease_token = p_lease_token
    ), 'lost')
$$;
