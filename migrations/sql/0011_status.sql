-- The status document. Cheap with a million pending jobs (the tally) and a million finished runs (the indexes on their ends).

CREATE FUNCTION tidemark.status_queue() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    SELECT jsonb_build_object(
        'pending_users', coalesce(sum(tally.pending_users), 0),
        'pending_jobs', coalesce(sum(tally.pending_jobs), 0),
        'oldest_pending_seconds', (
            SELECT greatest(extract(epoch FROM clock_timestamp() - oldest.created_at), 0)::bigint
            FROM (
                SELECT job.created_at
                FROM public.user_exercise_stats_refresh_jobs AS job
                WHERE job.status = 'pending'
                ORDER BY job.generation
                LIMIT 1
            ) AS oldest
        ),
        'exhausted_failed_jobs', (
            SELECT count(*)
            FROM public.user_exercise_stats_refresh_jobs AS job
            WHERE job.status = 'failed' AND job.absorbed_into_job_id IS NULL
        )
    )
    FROM tidemark.queue_tally AS tally
$$;

CREATE FUNCTION tidemark.status_leases() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    WITH live AS MATERIALIZED (
        SELECT run.id, run.user_id, run.job_id, run.attempt, run.generation, run.phase, run.worker_id, run.claimed_at,
            run.lease_expires_at, run.lease_expires_at <= clock_timestamp() AS expired
        FROM public.user_stats_projection_runs AS run
        WHERE run.phase IN ('claimed', 'computing', 'computed', 'publishing')
    )
    SELECT jsonb_build_object(
        'active', (SELECT count(*) FROM live WHERE NOT expired),
        'expired_unrecovered', (SELECT count(*) FROM live WHERE expired),
        'backoff_waiting', (
            SELECT count(*)
            FROM public.user_stats_projection_state AS state
            WHERE state.retry_not_before > statement_timestamp() AND state.pending_generation IS NOT NULL
        ),
        'active_list', (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                'run_id', listed.id,
                'user_id', listed.user_id,
                'job_id', listed.job_id,
                'attempt', listed.attempt,
                'generation', listed.generation,
                'phase', listed.phase,
                'worker_id', listed.worker_id,
                'claimed_at', listed.claimed_at,
                'age_seconds', extract(epoch FROM clock_timestamp() - listed.claimed_at)::bigint,
                'lease_expires_at', listed.lease_expires_at,
                'expired', listed.expired
            ) ORDER BY listed.id), '[]')
            FROM (SELECT * FROM live ORDER BY live.id LIMIT 100) AS listed
        )
    )
$$;

CREATE FUNCTION tidemark.status_last_hour() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    -- The statement's time, because a volatile clock is never the bound of an index scan: the whole history was read.
    -- The hour is reckoned from statement_timestamp(): an index can be searched for it, for the volatile clock it cannot.
    -- Percentiles of the newest ten thousand runs of the hour: sorting more would cost more than it tells.
    WITH sample AS MATERIALIZED (
        SELECT run.compute_ms, run.publish_ms
        FROM public.user_stats_projection_runs AS run
        WHERE run.phase = 'published' AND run.published_at > statement_timestamp() - interval '1 hour'
        ORDER BY run.published_at DESC
        LIMIT 10000
    ), failed AS MATERIALIZED (
        SELECT run.error_code, count(*) AS number
        FROM public.user_stats_projection_runs AS run
        WHERE run.phase = 'failed' AND run.failed_at > statement_timestamp() - interval '1 hour'
        GROUP BY run.error_code
    )
    SELECT jsonb_build_object(
        'completed', (
            SELECT count(*)
            FROM public.user_stats_projection_runs AS run
            WHERE run.phase = 'published' AND run.published_at > statement_timestamp() - interval '1 hour'
        ),
        'failed', (SELECT coalesce(sum(failed.number), 0) FROM failed),
        'failed_by_code', (SELECT coalesce(jsonb_object_agg(failed.error_code, failed.number), '{}') FROM failed),
        'compute_ms_p95', (SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY sample.compute_ms) FROM sample),
        'compute_ms_max', (SELECT max(sample.compute_ms) FROM sample),
        'publish_ms_p95', (SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY sample.publish_ms) FROM sample),
        'publish_ms_max', (SELECT max(sample.publish_ms) FROM sample)
    )
$$;

CREATE FUNCTION tidemark.status_ticks() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    SELECT jsonb_object_agg(tick.function_name, jsonb_build_object(
        'last_start', tick.last_started_at,
        'last_end', tick.last_ended_at,
        'last_outcome', tick.last_outcome,
        'age_seconds', extract(epoch FROM clock_timestamp() - tick.last_started_at)::bigint,
        'paused', (
            -- The newest change by which this function's switch went off, where it is off still.
            SELECT jsonb_build_object('since', change.changed_at, 'by', change.changed_by, 'note', change.new_row ->> 'note')
            FROM public.stats_projection_worker_settings_history AS change
            WHERE NOT (to_jsonb(settings) ->> (tick.function_name || '_enabled'))::boolean
                AND (change.old_row ->> (tick.function_name || '_enabled'))::boolean
                AND NOT (change.new_row ->> (tick.function_name || '_enabled'))::boolean
            ORDER BY change.id DESC
            LIMIT 1
        )
    ))
    FROM tidemark.ticks AS tick CROSS JOIN public.stats_projection_worker_settings AS settings
$$;


-- The oldest build of the functions that this schema still speaks to, named by the schema version that the build was made for.
-- Whoever takes away or changes what older builds call replaces this function in the same migration.
CREATE FUNCTION tidemark.minimum_function_version() RETURNS integer
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT 1
$$;

-- What a function compares itself with on each new connection: the version of the schema, and the oldest build it speaks to.
CREATE FUNCTION tidemark.schema_version_v1() RETURNS TABLE (schema_version integer, minimum_function_version integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(max(migration.version), 0), tidemark.minimum_function_version()
    FROM tidemark.schema_migrations AS migration
$$;
