-- The work function's tick: what there is to do, in one round trip; watching for trouble; alerts on their way out; purging history.

-- What has to be told about an alert: raised, more of it, resolved.
ALTER TABLE public.alert_outbox
    ADD COLUMN noticed_at timestamptz,
    ADD COLUMN noticed_occurrences bigint NOT NULL DEFAULT 0,
    ADD COLUMN resolve_noticed boolean NOT NULL DEFAULT false;
CREATE INDEX alert_outbox_untold ON public.alert_outbox (id) WHERE NOT resolve_noticed;
COMMENT ON COLUMN public.alert_outbox.noticed_at IS 'When it was last delivered; NULL: not yet.';

-- Alerts to be delivered: new ones; open ones that went on for an hour since they were last told; recoveries of those that were told.
CREATE FUNCTION tidemark.alerts_untold() RETURNS SETOF public.alert_outbox
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT alert.* FROM public.alert_outbox AS alert
    WHERE NOT alert.resolve_noticed AND CASE
        WHEN alert.resolved_at IS NOT NULL THEN true
        WHEN alert.noticed_at IS NULL THEN true
        ELSE alert.occurrences > alert.noticed_occurrences AND alert.noticed_at < clock_timestamp() - interval '1 hour' END
    ORDER BY alert.id
$$;

-- Reads up to p_limit alerts to be delivered, and their number.
CREATE FUNCTION tidemark.alerts_untold_v1(p_limit integer)
RETURNS TABLE (id bigint, kind text, subject text, error_code text, occurrences bigint, raised_at timestamptz, last_raised_at timestamptz, resolved_at timestamptz)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT untold.id, untold.kind, untold.subject, untold.error_code, untold.occurrences, untold.raised_at, untold.last_raised_at, untold.resolved_at
    FROM tidemark.alerts_untold() AS untold
    LIMIT p_limit
$$;

-- Marks alerts as told, as they were when they were read: what came since will be told again.
CREATE FUNCTION tidemark.alerts_told_v1(p_ids bigint[], p_occurrences bigint[], p_resolved boolean[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_number integer;
BEGIN
    PERFORM FROM public.alert_outbox AS alert WHERE alert.id = ANY (p_ids) ORDER BY alert.kind, alert.subject, alert.id FOR UPDATE;
    UPDATE public.alert_outbox AS alert
    SET noticed_at = clock_timestamp(), noticed_occurrences = told.occurrences, resolve_noticed = told.resolved
    FROM unnest(p_ids, p_occurrences, p_resolved) AS told (id, occurrences, resolved)
    WHERE alert.id = told.id;
    GET DIAGNOSTICS v_number = ROW_COUNT;
    RETURN v_number;
END
$$;

-- Enqueues the delivery of alerts where some wait and none is on its way. After a delivery that died the next one waits ten minutes.
CREATE FUNCTION tidemark.alerts_send() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    -- Recovered before anybody was told: nothing to tell. While a delivery is on its way some may have been told already.
    UPDATE public.alert_outbox AS alert SET resolve_noticed = true
    WHERE NOT alert.resolve_noticed AND alert.resolved_at IS NOT NULL AND alert.noticed_at IS NULL
        AND NOT EXISTS (SELECT FROM tidemark.job_key AS job_key WHERE job_key.dedupe_key = 'tidemark.alerts');
    IF EXISTS (SELECT FROM tidemark.alerts_untold())
        AND NOT EXISTS (SELECT FROM tidemark.job_key AS job_key WHERE job_key.dedupe_key = 'tidemark.alerts')
        AND NOT EXISTS (
            SELECT FROM tidemark.job_finished AS finished JOIN tidemark.job_body AS body ON body.job_id = finished.job_id
            WHERE finished.status = 4 AND finished.finished_at > statement_timestamp() - interval '10 minutes' AND body.dedupe_key = 'tidemark.alerts')
    THEN
        PERFORM public.enqueue_job(1, '{}', 'tidemark.alerts', 0, 0, 10);
    END IF;
END
$$;

-- Raises or resolves one alert by whether its trouble is there.
CREATE FUNCTION tidemark.alert_follow(p_kind text, p_subject text, p_code text, p_trouble boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    IF p_trouble AND NOT EXISTS (SELECT FROM public.alert_outbox AS alert WHERE alert.kind = p_kind AND alert.subject = p_subject AND alert.resolved_at IS NULL) THEN
        PERFORM tidemark.raise_alert(p_kind, p_subject, p_code);
    ELSIF NOT p_trouble THEN
        UPDATE public.alert_outbox AS alert SET resolved_at = clock_timestamp()
        WHERE alert.kind = p_kind AND alert.subject = p_subject AND alert.resolved_at IS NULL;
    END IF;
END
$$;

-- A schedule that rests because its expression or zone is of no use fires nothing, and nobody would notice; told in the transaction
-- that notes it, resolved with the change or the removal of the schedule.
CREATE FUNCTION tidemark.schedules_alert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM tidemark.alert_follow('schedule_refused', 'schedule ' || OLD.name, 'unusable', false);
        RETURN NULL;
    END IF;
    IF OLD.name <> NEW.name THEN
        PERFORM tidemark.alert_follow('schedule_refused', 'schedule ' || OLD.name, 'unusable', false);
    END IF;
    PERFORM tidemark.alert_follow('schedule_refused', 'schedule ' || NEW.name, 'unusable', NEW.enabled AND NEW.error <> '');
    RETURN NULL;
END
$$;
CREATE TRIGGER schedules_alert_changed AFTER UPDATE ON public.schedules
    FOR EACH ROW WHEN ((OLD.name, OLD.enabled, OLD.error) IS DISTINCT FROM (NEW.name, NEW.enabled, NEW.error))
    EXECUTE FUNCTION tidemark.schedules_alert();
CREATE TRIGGER schedules_alert_removed AFTER DELETE ON public.schedules
    FOR EACH ROW WHEN (OLD.error <> '') EXECUTE FUNCTION tidemark.schedules_alert();

-- Looks for standing still: called by ticks of claim and work when they note themselves, at most every five seconds each, by one of
-- them at a time. A paused function is not expected to tick, and what it would do is not expected to move.
CREATE FUNCTION tidemark.watch() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_settings public.stats_projection_worker_settings;
    v_tick record;
    v_refresh_oldest double precision;
BEGIN
    -- A row that a tick of work holds anyway, because anybody could hold an advisory lock.
    PERFORM FROM tidemark.ticks AS tick WHERE tick.function_name = 'work' FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO v_settings FROM public.stats_projection_worker_settings;
    FOR v_tick IN
        SELECT tick.function_name, tick.last_started_at,
            CASE tick.function_name WHEN 'claim' THEN v_settings.claim_enabled WHEN 'compute' THEN v_settings.compute_enabled
                WHEN 'publish' THEN v_settings.publish_enabled ELSE v_settings.work_enabled END AS enabled
        FROM tidemark.ticks AS tick ORDER BY tick.function_name
    LOOP
        -- A function that never ticked is not installed, as far as can be told.
        PERFORM tidemark.alert_follow('function_not_ticking', v_tick.function_name, 'tick_age',
            coalesce(v_tick.enabled AND v_tick.last_started_at < clock_timestamp() - make_interval(secs => v_settings.alert_tick_age_seconds), false));
    END LOOP;
    PERFORM tidemark.alert_follow('queue_standing_still', 'jobs', 'oldest_pending',
        v_settings.work_enabled AND tidemark.jobs_oldest_pending_seconds() > v_settings.alert_oldest_pending_seconds);
    SELECT extract(epoch FROM clock_timestamp() - min(oldest.created_at)) INTO v_refresh_oldest
    FROM (
        SELECT job.created_at FROM public.user_exercise_stats_refresh_jobs AS job WHERE job.status = 'pending' ORDER BY job.generation LIMIT 1
    ) AS oldest;
    PERFORM tidemark.alert_follow('queue_standing_still', 'refresh', 'oldest_pending',
        coalesce(v_settings.claim_enabled AND v_settings.compute_enabled AND v_settings.publish_enabled
            AND v_refresh_oldest > v_settings.alert_oldest_pending_seconds, false));
    PERFORM tidemark.alert_follow('leases_not_recovered', 'refresh', 'lease_expired', v_settings.claim_enabled AND EXISTS (
        SELECT FROM public.user_stats_projection_runs AS run
        WHERE run.phase IN ('claimed', 'computing', 'computed', 'publishing') AND run.lease_expires_at < clock_timestamp() - interval '60 seconds'));
    PERFORM tidemark.alert_follow('leases_not_recovered', 'jobs', 'lease_expired', v_settings.work_enabled AND EXISTS (
        SELECT FROM tidemark.job_lease AS lease WHERE lease.lease_until < clock_timestamp() - interval '60 seconds'));
    -- Ten minutes: from then on dead rows cost more than they did at first.
    PERFORM tidemark.alert_follow('old_snapshot', 'database', 'oldest_xmin', EXISTS (
        SELECT FROM pg_stat_activity AS activity
        WHERE activity.backend_xmin IS NOT NULL AND activity.datid = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND activity.backend_type = 'client backend' AND activity.xact_start < clock_timestamp() - interval '10 minutes'));
END
$$;

-- What a tick of the work function finds.
CREATE TYPE tidemark.work_tick AS (
    -- 'work' (claim, there may be something), 'idle', 'paused', 'late'
    outcome text,
    reaped integer,
    died integer,
    schedules_due boolean,
    handler_timeout_ms integer,
    lease_seconds integer
);

-- Begins a tick: notes it, reaps expired leases (also while paused: they must come back), sends alerts on their way, and says whether
-- anything can be claimed. With nothing to do it writes nothing but the note.
CREATE FUNCTION tidemark.work_begin_v1(p_worker_id uuid, p_planned_at timestamptz DEFAULT NULL) RETURNS tidemark.work_tick
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_tick tidemark.work_tick := ROW('idle', 0, 0, false, 0, 0);
    v_settings public.stats_projection_worker_settings;
BEGIN
    IF p_planned_at < clock_timestamp() - interval '5 seconds' THEN
        v_tick.outcome := 'late';
        RETURN v_tick;
    END IF;
    SELECT * INTO v_settings FROM public.stats_projection_worker_settings;
    v_tick.handler_timeout_ms := v_settings.work_timeout_ms;
    v_tick.lease_seconds := v_settings.job_lease_seconds;
    IF EXISTS (SELECT FROM tidemark.job_lease AS lease WHERE lease.lease_until <= clock_timestamp()) THEN
        SELECT count(*), count(*) FILTER (WHERE reaped.status = 4) INTO v_tick.reaped, v_tick.died FROM tidemark.jobs_reap_v1() AS reaped;
    END IF;
    IF NOT v_settings.work_enabled THEN
        v_tick.outcome := 'paused';
    ELSE
        IF EXISTS (SELECT FROM tidemark.alerts_untold()) THEN
            PERFORM tidemark.alerts_send();
        END IF;
        v_tick.schedules_due := tidemark.schedule_is_due();
        IF v_tick.reaped > 0 OR EXISTS (SELECT FROM tidemark.job_ready)
            OR EXISTS (SELECT FROM tidemark.job_scheduled AS scheduled WHERE scheduled.due_at <= statement_timestamp())
            OR EXISTS (SELECT FROM tidemark.job_group AS job_group WHERE job_group.waiting AND job_group.running < job_group.concurrency)
        THEN
            v_tick.outcome := 'work';
        END IF;
    END IF;
    IF v_tick.outcome <> 'work' AND v_tick.reaped = 0 AND NOT v_tick.schedules_due THEN
        -- Losing this note in a crash harms nobody, so that it need not wait for the disk.
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    IF tidemark.note_tick('work', CASE v_tick.outcome WHEN 'work' THEN '' ELSE v_tick.outcome END) THEN
        PERFORM tidemark.watch();
    END IF;
    RETURN v_tick;
END
$$;

-- Deletes up to p_limit finished rows past the retention: of jobs and their bodies, of refresh jobs and runs, of resolved alerts, of
-- planned instants. Never source rows, never projections. Returns how many rows went; fewer than p_limit of a kind: that kind is done.
CREATE FUNCTION tidemark.history_purge_v1(p_limit integer DEFAULT 1000, OUT jobs integer, OUT runs integer, OUT refresh_jobs integer, OUT alerts integer, OUT instants integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_before timestamptz;
BEGIN
    SELECT clock_timestamp() - make_interval(hours => 24 * settings.history_retention_days) INTO v_before
    FROM public.stats_projection_worker_settings AS settings;
    -- Job ids begin with the time of their creation, so that the oldest stand first.
    WITH old AS MATERIALIZED (
        SELECT finished.job_id FROM tidemark.job_finished AS finished
        WHERE finished.finished_at < v_before
            AND finished.job_id < encode(overlay(decode(repeat('00', 16), 'hex') PLACING substring(int8send((extract(epoch FROM v_before) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 'hex')::uuid
        ORDER BY finished.job_id
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM tidemark.job_finished AS finished USING old WHERE finished.job_id = old.job_id
    )
    DELETE FROM tidemark.job_body AS body USING old WHERE body.job_id = old.job_id;
    GET DIAGNOSTICS history_purge_v1.jobs = ROW_COUNT;
    -- A user's newest run stays: it tells when his figures were published.
    WITH old AS MATERIALIZED (
        SELECT run.id FROM public.user_stats_projection_runs AS run
        WHERE ((run.phase = 'published' AND run.published_at < v_before) OR (run.phase = 'failed' AND run.failed_at < v_before AND run.retry_not_before IS NULL))
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM public.user_stats_projection_runs AS run USING old WHERE run.id = old.id;
    GET DIAGNOSTICS history_purge_v1.runs = ROW_COUNT;
    WITH old AS MATERIALIZED (
        SELECT job.id FROM public.user_exercise_stats_refresh_jobs AS job
        WHERE job.status IN ('done', 'absorbed') AND job.finished_at < v_before
            AND NOT EXISTS (SELECT FROM public.user_stats_projection_runs AS run WHERE run.job_id = job.id)
            AND NOT EXISTS (
                SELECT FROM public.user_exercise_stats_refresh_jobs AS absorbed
                WHERE absorbed.user_id = job.user_id AND absorbed.absorbed_into_job_id = job.id AND absorbed.status = 'failed')
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM public.user_exercise_stats_refresh_jobs AS job USING old WHERE job.id = old.id;
    GET DIAGNOSTICS history_purge_v1.refresh_jobs = ROW_COUNT;
    WITH old AS MATERIALIZED (
        SELECT alert.id FROM public.alert_outbox AS alert WHERE alert.resolved_at < v_before LIMIT p_limit FOR UPDATE SKIP LOCKED
    )
    DELETE FROM public.alert_outbox AS alert USING old WHERE alert.id = old.id;
    GET DIAGNOSTICS history_purge_v1.alerts = ROW_COUNT;
    -- Lanes that are empty are forgotten; a claim finds them again where something comes.
    DELETE FROM tidemark.job_lane AS lane
    WHERE lane.hinted_at < clock_timestamp() - interval '10 minutes'
        AND NOT EXISTS (SELECT FROM tidemark.job_ready AS ready WHERE ready.job_type = lane.job_type AND ready.priority = lane.priority);
    history_purge_v1.instants := tidemark.schedule_runs_purge_v1(p_limit);
END
$$;
