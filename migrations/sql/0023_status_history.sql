-- What the dashboard shows beside the status document: the last hour by the minute, and what has failed for good.

-- One small row a minute. What the plots show is kept here, because reckoning it from runs and jobs would read an hour of them each time.
CREATE TABLE tidemark.status_history (
    -- The beginning of the minute that the counts are of.
    minute timestamptz PRIMARY KEY,
    -- As it stood when the row was written, some seconds after the minute.
    stale_users bigint NOT NULL,
    waiting_users bigint NOT NULL,
    oldest_seconds bigint NOT NULL,
    jobs_due bigint NOT NULL,
    jobs_oldest_seconds bigint NOT NULL,
    -- Of the minute. Durations are 95th percentiles in milliseconds; NULL where nothing was published.
    published integer NOT NULL,
    failed integer NOT NULL,
    jobs_dead integer NOT NULL,
    compute_ms integer,
    publish_ms integer,
    lease_ms integer
);
COMMENT ON TABLE tidemark.status_history IS
    'What the dashboard plots: a row a minute for a day, written by ticks of claim. A minute without a row is one without a tick.';

-- Writes the row of the minute that begins at p_minute, and removes what is older than a day, or of a clock that ran ahead.
CREATE FUNCTION tidemark.status_history_write(p_minute timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_end timestamptz := p_minute + interval '1 minute';
BEGIN
    DELETE FROM tidemark.status_history AS history
    WHERE history.minute < p_minute - interval '1 day' OR history.minute > p_minute;
    -- Durations of the newest two thousand of the minute: sorting more would cost more than it tells.
    WITH sample AS MATERIALIZED (
        SELECT run.compute_ms, run.publish_ms, extract(epoch FROM run.published_at - run.claimed_at) * 1000 AS lease_ms
        FROM public.user_stats_projection_runs AS run
        WHERE run.phase = 'published' AND run.published_at >= p_minute AND run.published_at < v_end
        ORDER BY run.published_at DESC
        LIMIT 2000
    )
    INSERT INTO tidemark.status_history
    SELECT p_minute,
        (SELECT coalesce(sum(tally.stale_users), 0) FROM tidemark.queue_tally AS tally),
        (SELECT coalesce(sum(tally.pending_users), 0) FROM tidemark.queue_tally AS tally),
        coalesce((
            SELECT greatest(extract(epoch FROM clock_timestamp() - job.created_at), 0)::bigint
            FROM public.user_exercise_stats_refresh_jobs AS job
            WHERE job.status = 'pending' ORDER BY job.generation LIMIT 1
        ), 0),
        tidemark.count_about((SELECT count(*) FROM (SELECT FROM tidemark.job_ready LIMIT 100001) AS counted), 'tidemark.job_ready')
            + tidemark.count_about((SELECT count(*) FROM (SELECT FROM tidemark.job_grouped LIMIT 100001) AS counted), 'tidemark.job_grouped'),
        tidemark.jobs_oldest_pending_seconds(),
        (SELECT count(*) FROM public.user_stats_projection_runs AS run
            WHERE run.phase = 'published' AND run.published_at >= p_minute AND run.published_at < v_end),
        (SELECT count(*) FROM public.user_stats_projection_runs AS run
            WHERE run.phase = 'failed' AND run.failed_at >= p_minute AND run.failed_at < v_end),
        (SELECT count(*) FROM (SELECT FROM tidemark.job_finished AS finished
            WHERE finished.status = 4 AND finished.error_code IS DISTINCT FROM 'cancelled' AND finished.finished_at >= p_minute AND finished.finished_at < v_end
            LIMIT 100001) AS counted),
        (SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY sample.compute_ms) FROM sample),
        (SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY sample.publish_ms) FROM sample),
        (SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY sample.lease_ms) FROM sample)
    -- Written by somebody whose clock reads the same minute: once is enough.
    ON CONFLICT (minute) DO NOTHING;
END
$$;

-- With the note of a tick of claim, which one invocation at a time writes, at most every five seconds and in the tick's own round trip:
-- the first one after a minute is over keeps that minute. Ten seconds later, so that whoever published in its last moment, within the
-- longest budget of a publish, has committed.
CREATE FUNCTION tidemark.status_history_note() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_minute timestamptz := date_bin('1 minute', clock_timestamp() - interval '70 seconds', '2000-01-01 00:00:00+00');
BEGIN
    IF NOT EXISTS (SELECT FROM tidemark.status_history AS history WHERE history.minute = v_minute) THEN
        PERFORM tidemark.status_history_write(v_minute);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER status_history_note AFTER UPDATE OF last_started_at ON tidemark.ticks
    FOR EACH ROW WHEN (NEW.function_name = 'claim' AND NEW.last_started_at IS DISTINCT FROM OLD.last_started_at)
    EXECUTE FUNCTION tidemark.status_history_note();

-- The last hour by the minute, the newest refreshes and jobs that have failed for good, and the alerts that are open. Of very many
-- failed refreshes the newest twenty of some ten thousand.
CREATE FUNCTION tidemark.dashboard_v1() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    SELECT jsonb_build_object(
        'history', (
            SELECT coalesce(jsonb_agg(to_jsonb(history) ORDER BY history.minute), '[]')
            FROM tidemark.status_history AS history
            WHERE history.minute > statement_timestamp() - interval '62 minutes'
        ),
        'failed_refreshes', (
            SELECT coalesce(jsonb_agg(to_jsonb(newest) ORDER BY newest.failed_at DESC), '[]')
            FROM (
                SELECT failed.user_id, failed.attempts, failed.error_code, failed.error_message, failed.failed_at
                FROM (
                    SELECT job.user_id, job.attempts, job.error_code, job.error_message, job.finished_at AS failed_at
                    FROM public.user_exercise_stats_refresh_jobs AS job
                    WHERE job.status = 'failed' AND job.absorbed_into_job_id IS NULL
                    LIMIT 10000
                ) AS failed
                ORDER BY failed.failed_at DESC
                LIMIT 20
            ) AS newest
        ),
        'dead_jobs', (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                'job_id', newest.job_id,
                'job_type', body.job_type,
                'attempts', newest.attempts,
                'error_code', newest.error_code,
                'last_error', newest.last_error,
                'died_at', newest.finished_at
            ) ORDER BY newest.finished_at DESC), '[]')
            FROM (
                SELECT finished.job_id, finished.attempts, finished.error_code, finished.last_error, finished.finished_at
                FROM tidemark.job_finished AS finished
                WHERE finished.status = 4 AND finished.error_code IS DISTINCT FROM 'cancelled'
                ORDER BY finished.finished_at DESC
                LIMIT 20
            ) AS newest
            JOIN tidemark.job_body AS body ON body.job_id = newest.job_id
        ),
        'alerts', (
            SELECT coalesce(jsonb_agg(to_jsonb(newest) ORDER BY newest.raised_at DESC), '[]')
            FROM (
                SELECT alert.kind, alert.subject, alert.error_code, alert.occurrences, alert.raised_at, alert.last_raised_at
                FROM public.alert_outbox AS alert
                WHERE alert.resolved_at IS NULL
                ORDER BY alert.raised_at DESC
                LIMIT 20
            ) AS newest
        )
    )
$$;
