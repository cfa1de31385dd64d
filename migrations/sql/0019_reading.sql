-- What the application reads: views over the published figures for its own users, and waiting for a save to be published.
-- docs/READING.md is the guide.

-- Each user reads what is published of itself. The subquery is asked once per statement, and its answer is an index condition.
CREATE POLICY own_user_reads ON public.user_exercise_stats FOR SELECT TO authenticated
    USING (user_id = (SELECT tidemark.caller_v1()));
CREATE POLICY own_user_reads ON public.user_exercise_rep_maxes FOR SELECT TO authenticated
    USING (user_id = (SELECT tidemark.caller_v1()));
CREATE POLICY own_user_reads ON public.user_exercise_stats_weekly FOR SELECT TO authenticated
    USING (user_id = (SELECT tidemark.caller_v1()));
CREATE POLICY own_user_reads ON public.user_muscle_stats_weekly FOR SELECT TO authenticated
    USING (user_id = (SELECT tidemark.caller_v1()));
CREATE POLICY own_user_reads ON public.user_stats_summary FOR SELECT TO authenticated
    USING (user_id = (SELECT tidemark.caller_v1()));
-- Of these two only the columns that 0025_grants.sql names.
CREATE POLICY own_user_reads ON public.user_stats_projection_state FOR SELECT TO authenticated
    USING (user_id = (SELECT tidemark.caller_v1()));
CREATE POLICY service_role_reads ON public.user_stats_projection_state FOR SELECT TO service_role USING (true);
CREATE POLICY own_user_reads ON public.training_profiles FOR SELECT TO authenticated
    USING (user_id = (SELECT tidemark.caller_v1()));

-- Applications read a week of all exercises at least as often as all weeks of one.
CREATE INDEX user_exercise_stats_weekly_of_week ON public.user_exercise_stats_weekly (user_id, week_start);

-- The date in a zone at an instant, and the first date of the week it lies in. p_week_start: ISO weekday, 1 = Monday.
CREATE FUNCTION tidemark.calendar_at_v1(
    p_time_zone text, p_week_start smallint, p_at timestamptz, OUT today date, OUT running_week date
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    today := (p_at AT TIME ZONE p_time_zone)::date;
    running_week := today - (extract(isodow FROM today)::integer - p_week_start + 7) % 7;
END
$$;

-- Consecutive training weeks up to now. The running week neither breaks a streak nor is needed: it lives while the last
-- training week is the running or the previous one, or lies ahead (a workout dated in the future).
CREATE FUNCTION tidemark.streak_at_v1(p_last_training_week date, p_last_streak_weeks integer, p_running_week date) RETURNS integer
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE WHEN p_last_training_week >= p_running_week - 7 THEN p_last_streak_weeks ELSE 0 END;
END
$$;

-- Since when the published figures of a user are not the newest there could be; null where they are. Something that was saved waits:
-- since the oldest request that still stands. Nothing waits, but a newer definition of the figures is known: since that was told.
CREATE FUNCTION tidemark.stale_since_v1(p_user_id uuid) RETURNS timestamptz
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_state public.user_stats_projection_state;
BEGIN
    SELECT state.* INTO v_state FROM public.user_stats_projection_state AS state WHERE state.user_id = p_user_id;
    IF v_state.requested_generation > v_state.applied_generation THEN
        RETURN coalesce(
            least(
                (SELECT job.created_at FROM public.user_exercise_stats_refresh_jobs AS job
                WHERE job.user_id = p_user_id AND job.status = 'pending' ORDER BY job.generation LIMIT 1),
                (SELECT job.created_at FROM public.user_stats_projection_runs AS run
                JOIN public.user_exercise_stats_refresh_jobs AS job ON job.id = run.job_id
                WHERE run.id = v_state.live_run_id),
                (SELECT min(job.created_at) FROM public.user_exercise_stats_refresh_jobs AS job
                WHERE job.user_id = p_user_id AND job.status = 'failed' AND job.absorbed_into_job_id IS NULL)
            ),
            v_state.requested_at, clock_timestamp());
    END IF;
    IF v_state.requested_generation > 0 THEN
        RETURN (
            SELECT coalesce(definition.announced_at, clock_timestamp()) FROM tidemark.definition AS definition
            WHERE v_state.definition_version < definition.version);
    END IF;
    RETURN NULL;
END
$$;

-- One row per user who ever saved something: how fresh the figures are, the totals, and what depends on today. Nothing is
-- written at midnight: the day is that of the statement.
CREATE VIEW public.user_stats_overview WITH (security_invoker = true) AS
SELECT
    state.user_id,
    state.applied_generation AS generation,
    state.applied_at AS published_at,
    freshness.stale_since IS NOT NULL AS stale,
    freshness.stale_since,
    coalesce(summary.workouts, 0) AS workouts,
    coalesce(summary.training_days, 0) AS training_days,
    coalesce(summary.exercises, 0) AS exercises,
    coalesce(summary.sets, 0) AS sets,
    coalesce(summary.reps, 0) AS reps,
    coalesce(summary.working_volume_kg, 0) AS working_volume_kg,
    coalesce(summary.total_volume_kg, 0) AS total_volume_kg,
    coalesce(summary.effective_volume_kg, 0) AS effective_volume_kg,
    summary.first_performed_on,
    summary.last_performed_on,
    calendar.today,
    calendar.running_week AS week_start,
    tidemark.streak_at_v1(summary.last_training_week, summary.last_streak_weeks, calendar.running_week) AS streak_weeks,
    coalesce(summary.longest_streak_weeks, 0) AS longest_streak_weeks,
    coalesce(week.sets, 0) AS week_sets,
    coalesce(week.reps, 0) AS week_reps,
    coalesce(week.working_volume_kg, 0) AS week_working_volume_kg
FROM public.user_stats_projection_state AS state
LEFT JOIN public.user_stats_summary AS summary ON summary.user_id = state.user_id
LEFT JOIN public.training_profiles AS profile ON profile.user_id = state.user_id
CROSS JOIN LATERAL tidemark.calendar_at_v1(
    coalesce(profile.time_zone, 'UTC'), coalesce(profile.week_start, 1::smallint), pg_catalog.statement_timestamp()
) AS calendar
CROSS JOIN LATERAL tidemark.stale_since_v1(state.user_id) AS freshness (stale_since)
CROSS JOIN LATERAL (
    SELECT pg_catalog.sum(weekly.sets) AS sets, pg_catalog.sum(weekly.reps) AS reps,
        pg_catalog.sum(weekly.working_volume_kg) AS working_volume_kg
    FROM public.user_exercise_stats_weekly AS weekly
    WHERE weekly.user_id = state.user_id AND weekly.week_start = calendar.running_week
) AS week;
COMMENT ON VIEW public.user_stats_overview IS 'Per user: generation and freshness, totals, the running week and the streak as of the statement.';

-- Where the road of a user's generation p_target to the published figures stands. outcome: fresh, waiting, paused (an operator
-- stopped a function that is still needed), retrying (the next attempt is at retry_at), exhausted (no attempt is left; error_code
-- says why the last one failed). One row of each of three tables, each by its key.
CREATE FUNCTION tidemark.freshness_v1(
    p_user_id uuid, p_target bigint,
    OUT outcome text, OUT generation bigint, OUT applied_generation bigint, OUT published_at timestamptz,
    OUT retry_at timestamptz, OUT error_code text, OUT is_callers_own boolean
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
BEGIN
    error_code := '';
    SELECT coalesce(p_target, state.requested_generation), state.applied_generation, state.applied_at, state.retry_not_before,
        coalesce(state.marked_by = pg_current_xact_id_if_assigned() AND state.marked_at = now(), false),
        CASE
            WHEN state.applied_generation >= coalesce(p_target, state.requested_generation) THEN 'fresh'
            WHEN state.live_run_id IS NULL AND state.pending_generation IS NULL THEN 'exhausted'
            WHEN state.live_run_id IS NULL AND NOT (settings.claim_enabled AND settings.compute_enabled AND settings.publish_enabled)
                THEN 'paused'
            WHEN run.generation < coalesce(p_target, state.requested_generation) AND NOT settings.claim_enabled THEN 'paused'
            WHEN run.phase = 'claimed' AND NOT settings.compute_enabled THEN 'paused'
            WHEN run.phase IN ('claimed', 'computing', 'computed') AND NOT settings.publish_enabled THEN 'paused'
            WHEN state.retry_not_before > clock_timestamp() THEN 'retrying'
            ELSE 'waiting'
        END
    INTO generation, applied_generation, published_at, retry_at, is_callers_own, outcome
    FROM public.user_stats_projection_state AS state
    CROSS JOIN public.stats_projection_worker_settings AS settings
    LEFT JOIN public.user_stats_projection_runs AS run ON run.id = state.live_run_id
    WHERE state.user_id = p_user_id;
    IF NOT FOUND THEN
        -- Nothing was ever saved, so that nothing waits.
        outcome := 'fresh';
        generation := 0;
        applied_generation := 0;
        is_callers_own := false;
    ELSIF outcome = 'exhausted' THEN
        SELECT job.error_code INTO error_code
        FROM public.user_exercise_stats_refresh_jobs AS job
        WHERE job.user_id = p_user_id AND job.status = 'failed' AND job.absorbed_into_job_id IS NULL
        ORDER BY job.generation DESC
        LIMIT 1;
        error_code := coalesce(error_code, '');
    END IF;
END
$$;

-- When a wait has to end: after its timeout, and before the limits of the statement and the transaction (zero or null: none) would
-- cancel it. A quarter of a limit, at most a quarter of a second, is left to answer in.
CREATE FUNCTION tidemark.wait_deadline(
    p_began timestamptz, p_timeout_ms integer, p_statement_began timestamptz, p_statement_limit interval,
    p_transaction_began timestamptz, p_transaction_limit interval
) RETURNS timestamptz
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT least(
        p_began + p_timeout_ms * interval '1 millisecond',
        p_statement_began + nullif(p_statement_limit, interval '0') - least(p_statement_limit / 4, interval '250 milliseconds'),
        p_transaction_began + nullif(p_transaction_limit, interval '0') - least(p_transaction_limit / 4, interval '250 milliseconds'))
$$;

-- Refuses to wait where the wait could never end well.
CREATE FUNCTION tidemark.check_wait(p_user_id uuid, p_timeout_ms integer) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF p_user_id IS NULL OR p_timeout_ms IS NULL THEN
        RAISE EXCEPTION 'user or timeout is missing' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF NOT tidemark.may_act_for(p_user_id) THEN
        RAISE EXCEPTION 'this role may wait for its own user only'
            USING ERRCODE = 'insufficient_privilege', HINT = 'request.jwt.claims must name the user as sub.';
    END IF;
    IF p_timeout_ms NOT BETWEEN 0 AND 7000 THEN
        RAISE EXCEPTION 'the timeout must be 0 to 7000 milliseconds' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'a transaction that keeps its first snapshot never sees the figures become fresh'
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Wait outside of it, or in a READ COMMITTED transaction.';
    END IF;
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'a standby may not know of the save yet, and so cannot say whether it is published'
            USING ERRCODE = 'read_only_sql_transaction', HINT = 'Wait on the primary.';
    END IF;
END
$$;

-- Waits until the user's last save before this call is published, at most p_timeout_ms (0 to 7000, and always less than
-- what statement_timeout and transaction_timeout leave), and says how it ended: outcome fresh, timeout, paused, retrying or
-- exhausted. It answers at once where waiting is of no use. It sees what is committed meanwhile because it is volatile: each look
-- has a snapshot of its own, but never in a transaction that keeps its first snapshot, where it refuses. It takes no row lock and
-- writes nothing.
CREATE FUNCTION public.wait_for_fresh_v1(p_user_id uuid, p_timeout_ms integer DEFAULT 3000)
RETURNS TABLE (
    fresh boolean, outcome text, error_code text, generation bigint, applied_generation bigint, published_at timestamptz,
    waited_ms integer
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_began timestamptz := clock_timestamp();
    v_deadline timestamptz;
    v_look record;
    v_pause_seconds double precision := 0.02;
BEGIN
    PERFORM tidemark.check_wait(p_user_id, p_timeout_ms);
    v_deadline := tidemark.wait_deadline(
        v_began, p_timeout_ms, statement_timestamp(), current_setting('statement_timeout')::interval,
        -- Servers before 17 have no such limit.
        now(), nullif(current_setting('transaction_timeout', true), '')::interval);
    SELECT * INTO v_look FROM tidemark.freshness_v1(p_user_id, NULL);
    IF v_look.is_callers_own THEN
        RAISE EXCEPTION 'the save is part of this transaction and cannot be published before it commits'
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Commit first, then wait.';
    END IF;
    WHILE (v_look.outcome = 'waiting' OR v_look.outcome = 'retrying' AND v_look.retry_at < v_deadline)
        AND clock_timestamp() < v_deadline
    LOOP
        PERFORM pg_sleep(least(v_pause_seconds, extract(epoch FROM v_deadline - clock_timestamp())));
        -- From 20 ms to a fifth of a second: who waits long asks less often.
        v_pause_seconds := least(v_pause_seconds * 1.5, 0.2);
        SELECT * INTO v_look FROM tidemark.freshness_v1(p_user_id, v_look.generation);
    END LOOP;
    RETURN QUERY SELECT v_look.outcome = 'fresh',
        CASE v_look.outcome WHEN 'waiting' THEN 'timeout' ELSE v_look.outcome END,
        v_look.error_code, v_look.generation, v_look.applied_generation, v_look.published_at,
        (extract(epoch FROM clock_timestamp() - v_began) * 1000)::integer;
END
$$;
