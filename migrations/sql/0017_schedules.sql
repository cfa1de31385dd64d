-- Recurring jobs. The table is the operator's: rows are inserted and changed by plain statements. The work function plans and fires
-- them; when an expression comes true in its zone is computed there, what happens then is decided here. See docs/SCHEDULES.md.

CREATE TABLE public.schedules (
    name text PRIMARY KEY
        CONSTRAINT schedules_name CHECK (name ~ '^[a-z0-9][a-z0-9_.-]{0,62}$'),
    cron_expression text NOT NULL
        CONSTRAINT schedules_cron_expression CHECK (pg_catalog.char_length(cron_expression) BETWEEN 1 AND 200),
    time_zone text NOT NULL DEFAULT 'UTC'
        CONSTRAINT schedules_time_zone CHECK (pg_catalog.char_length(time_zone) BETWEEN 1 AND 100),
    job_type integer NOT NULL,
    payload jsonb NOT NULL DEFAULT '{}',
    priority integer NOT NULL DEFAULT 100,
    max_attempts integer NOT NULL DEFAULT 3,
    enabled boolean NOT NULL DEFAULT true,
    -- NULL: to be planned by the next tick.
    next_planned_at timestamptz
        CONSTRAINT schedules_next_planned_at CHECK (pg_catalog.isfinite(next_planned_at)),
    last_planned_at timestamptz,
    last_job_id uuid,
    -- Why the expression or the zone is of no use; the schedule rests until one of them is changed.
    error text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
);
COMMENT ON TABLE public.schedules IS
    'Recurring jobs: a cron expression of five fields in a time zone, and the job that it enqueues. Insert and update rows by hand.';
COMMENT ON COLUMN public.schedules.next_planned_at IS
    'When it fires next. Follows the expression; set it to now() to fire once at the next tick.';
-- What every tick asks: is anything due, or to be planned?
CREATE INDEX schedules_due ON public.schedules (coalesce(next_planned_at, '-infinity')) WHERE enabled AND error = '';

CREATE TABLE tidemark.schedule_runs (
    name text NOT NULL,
    planned_at timestamptz NOT NULL,
    fired_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    job_id uuid NOT NULL,
    PRIMARY KEY (name, planned_at)
);
CREATE INDEX schedule_runs_fired_at ON tidemark.schedule_runs (fired_at);
COMMENT ON TABLE tidemark.schedule_runs IS 'Which planned instants have fired: each once, however many ticks saw it due.';

-- An instant as RFC 3339 in UTC, whatever the session's zone and style.
CREATE FUNCTION tidemark.schedule_instant(p_instant timestamptz) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT to_char(p_instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
$$;

-- The payload of the job for one planned instant: an object learns it as planned_at, unless it says something else there itself.
CREATE FUNCTION tidemark.schedule_payload(p_payload jsonb, p_planned_at timestamptz) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN jsonb_typeof(p_payload) = 'object'
            THEN jsonb_build_object('planned_at', tidemark.schedule_instant(p_planned_at)) || p_payload
        ELSE p_payload
    END
$$;

-- Whatever an operator writes is made consistent here: a changed expression, zone or switch is planned anew, and a job that could
-- not be enqueued is refused now and not at night.
CREATE FUNCTION tidemark.schedules_edit() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_problem text;
BEGIN
    v_problem := tidemark.job_problem(NEW.job_type, tidemark.schedule_payload(NEW.payload, clock_timestamp()), NULL, NEW.priority, 0, NEW.max_attempts, NULL);
    IF v_problem IS NOT NULL THEN
        RAISE EXCEPTION '%', v_problem USING ERRCODE = 'invalid_parameter_value', HINT = 'The schedule was not changed.';
    END IF;
    IF TG_OP = 'UPDATE' AND (NEW.cron_expression, NEW.time_zone, NEW.enabled) IS DISTINCT FROM (OLD.cron_expression, OLD.time_zone, OLD.enabled) THEN
        NEW.next_planned_at := NULL;
        NEW.error := '';
    END IF;
    -- Planned instants are whole seconds, also where an operator wrote now().
    NEW.next_planned_at := date_trunc('second', NEW.next_planned_at);
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END
$$;
CREATE TRIGGER schedules_edit BEFORE INSERT OR UPDATE ON public.schedules
    FOR EACH ROW EXECUTE FUNCTION tidemark.schedules_edit();

-- Whether schedules_due_v1 would list anything; for the first round trip of a tick. Sequential scans are off as in everything that
-- every tick asks.
CREATE FUNCTION tidemark.schedule_is_due() RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT EXISTS (
        SELECT FROM public.schedules AS schedule
        WHERE schedule.enabled AND schedule.error = ''
            AND coalesce(schedule.next_planned_at, '-infinity') <= (SELECT clock_timestamp())
    )
$$;

-- The schedules that are due or to be planned, at most 100, and the clock by which they are. Takes no lock: firing looks again.
CREATE FUNCTION tidemark.schedules_due_v1()
RETURNS TABLE (name text, cron_expression text, time_zone text, next_planned_at timestamptz, looked_at timestamptz)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    WITH present AS MATERIALIZED (SELECT clock_timestamp() AS looked_at)
    SELECT schedule.name, schedule.cron_expression, schedule.time_zone, schedule.next_planned_at,
        (SELECT present.looked_at FROM present)
    FROM public.schedules AS schedule
    WHERE schedule.enabled AND schedule.error = ''
        AND coalesce(schedule.next_planned_at, '-infinity') <= (SELECT present.looked_at FROM present)
    ORDER BY coalesce(schedule.next_planned_at, '-infinity')
    LIMIT 100
$$;

-- Locks a schedule and returns it, if it still is what the caller has read: same expression, zone and planned instant, and neither
-- paused nor refused.
CREATE FUNCTION tidemark.schedule_hold(p_name text, p_cron_expression text, p_time_zone text, p_planned_at timestamptz)
RETURNS public.schedules
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_schedule public.schedules;
BEGIN
    SELECT * INTO v_schedule FROM public.schedules AS schedule WHERE schedule.name = p_name FOR NO KEY UPDATE;
    IF v_schedule.enabled AND v_schedule.error = ''
        AND v_schedule.cron_expression = p_cron_expression AND v_schedule.time_zone = p_time_zone
        AND v_schedule.next_planned_at IS NOT DISTINCT FROM p_planned_at
    THEN
        RETURN v_schedule;
    END IF;
    RETURN NULL;
END
$$;

-- Says when a schedule fires next that is to be planned. Answers 'planned', or 'lost' where somebody planned or changed it meanwhile.
CREATE FUNCTION tidemark.schedule_plan_v1(p_name text, p_cron_expression text, p_time_zone text, p_next_planned_at timestamptz) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_schedule public.schedules;
BEGIN
    v_schedule := tidemark.schedule_hold(p_name, p_cron_expression, p_time_zone, NULL);
    IF v_schedule.name IS NULL THEN
        RETURN 'lost';
    END IF;
    IF p_next_planned_at IS NULL THEN
        RAISE EXCEPTION 'a schedule cannot be planned for no instant' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE public.schedules SET next_planned_at = p_next_planned_at WHERE name = p_name;
    RETURN 'planned';
END
$$;

-- Enqueues the job of one planned instant and says when the schedule fires next, in one transaction. Answers 'fired'; 'early' before
-- the instant; 'repeated' where the instant has fired before, which then only moves on; 'lost' where another tick was faster or the
-- schedule was changed meanwhile.
CREATE FUNCTION tidemark.schedule_fire_v1(
    p_name text, p_cron_expression text, p_time_zone text, p_planned_at timestamptz, p_next_planned_at timestamptz
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_schedule public.schedules;
    v_job_id uuid;
    v_repeated boolean;
BEGIN
    v_schedule := tidemark.schedule_hold(p_name, p_cron_expression, p_time_zone, p_planned_at);
    IF v_schedule.name IS NULL OR p_planned_at IS NULL THEN
        RETURN 'lost';
    END IF;
    IF p_planned_at > clock_timestamp() THEN
        RETURN 'early';
    END IF;
    IF p_next_planned_at IS NULL OR p_next_planned_at <= p_planned_at THEN
        RAISE EXCEPTION 'a schedule fires next after the instant for which it fires' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    v_repeated := EXISTS (SELECT FROM tidemark.schedule_runs AS run WHERE run.name = p_name AND run.planned_at = p_planned_at);
    IF NOT v_repeated THEN
        SELECT enqueued.job_id INTO v_job_id
        FROM public.enqueue_job(
            job_type => v_schedule.job_type,
            payload => tidemark.schedule_payload(v_schedule.payload, p_planned_at),
            dedupe_key => 'schedule:' || p_name || ':' || tidemark.schedule_instant(p_planned_at),
            priority => v_schedule.priority,
            max_attempts => v_schedule.max_attempts
        ) AS enqueued;
        INSERT INTO tidemark.schedule_runs (name, planned_at, job_id) VALUES (p_name, p_planned_at, v_job_id);
    END IF;
    UPDATE public.schedules
    SET next_planned_at = p_next_planned_at,
        last_planned_at = p_planned_at,
        last_job_id = coalesce(v_job_id, last_job_id)
    WHERE name = p_name;
    RETURN CASE WHEN v_repeated THEN 'repeated' ELSE 'fired' END;
END
$$;

-- Notes why an expression or a zone is of no use. The schedule is not looked at again until one of them is changed. Answers
-- 'refused', or 'lost' where somebody changed it meanwhile.
CREATE FUNCTION tidemark.schedule_refuse_v1(p_name text, p_cron_expression text, p_time_zone text, p_error text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM public.schedules AS schedule WHERE schedule.name = p_name FOR NO KEY UPDATE;
    UPDATE public.schedules
    SET error = left(coalesce(nullif(p_error, ''), 'unusable'), 500), next_planned_at = NULL
    WHERE name = p_name AND cron_expression = p_cron_expression AND time_zone = p_time_zone AND enabled AND error = '';
    RETURN CASE WHEN FOUND THEN 'refused' ELSE 'lost' END;
END
$$;

-- Deletes runs past the retention of history, the oldest first, at most so many. Returns how many.
CREATE FUNCTION tidemark.schedule_runs_purge_v1(p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_before timestamptz;
    v_deleted integer;
BEGIN
    SELECT clock_timestamp() - make_interval(secs => settings.history_retention_days * 86400.0) INTO v_before
    FROM public.stats_projection_worker_settings AS settings;
    WITH picked AS MATERIALIZED (
        SELECT run.name, run.planned_at
        FROM tidemark.schedule_runs AS run
        WHERE run.fired_at < v_before
        ORDER BY run.fired_at
        LIMIT coalesce(p_limit, 0)
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM tidemark.schedule_runs AS run
    USING picked
    WHERE run.name = picked.name AND run.planned_at = picked.planned_at;
    GET DIAGNOSTICS v_deleted = ROW_COUNT;
    RETURN v_deleted;
END
$$;

-- Type 2 is the built-in purge. After everything else: nobody waits for it.
INSERT INTO public.schedules (name, cron_expression, job_type, priority) VALUES ('history-purge', '*/10 * * * *', 2, 200);
