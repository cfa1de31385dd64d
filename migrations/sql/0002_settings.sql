-- The one source of every budget: a single row, bounded by constraints, with a history of its changes.

CREATE TABLE public.stats_projection_worker_settings (
    id smallint PRIMARY KEY DEFAULT 1
        CONSTRAINT stats_projection_worker_settings_one_row CHECK (id = 1),
    claim_timeout_ms integer NOT NULL DEFAULT 3000
        CONSTRAINT stats_projection_worker_settings_claim_timeout_ms CHECK (claim_timeout_ms BETWEEN 100 AND 30000),
    compute_timeout_ms integer NOT NULL DEFAULT 60000
        CONSTRAINT stats_projection_worker_settings_compute_timeout_ms CHECK (compute_timeout_ms BETWEEN 1000 AND 600000),
    -- Below the save limit of 8000 ms, so that a save that waits for a publish never fails for it.
    publish_timeout_ms integer NOT NULL DEFAULT 6000
        CONSTRAINT stats_projection_worker_settings_publish_timeout_ms CHECK (publish_timeout_ms >= 100 AND publish_timeout_ms < 8000),
    lease_seconds integer NOT NULL DEFAULT 300
        CONSTRAINT stats_projection_worker_settings_lease_seconds CHECK (lease_seconds BETWEEN 5 AND 3600),
    max_active integer NOT NULL DEFAULT 2
        CONSTRAINT stats_projection_worker_settings_max_active CHECK (max_active BETWEEN 1 AND 1000),
    max_attempts integer NOT NULL DEFAULT 3
        CONSTRAINT stats_projection_worker_settings_max_attempts CHECK (max_attempts BETWEEN 1 AND 20),
    backoff_seconds integer NOT NULL DEFAULT 30
        CONSTRAINT stats_projection_worker_settings_backoff_seconds CHECK (backoff_seconds BETWEEN 0 AND 86400),
    claim_enabled boolean NOT NULL DEFAULT true,
    compute_enabled boolean NOT NULL DEFAULT true,
    publish_enabled boolean NOT NULL DEFAULT true,
    work_enabled boolean NOT NULL DEFAULT true,
    history_retention_days integer NOT NULL DEFAULT 7
        CONSTRAINT stats_projection_worker_settings_history_retention_days CHECK (history_retention_days BETWEEN 1 AND 365),
    -- The general queue: how long a handler may take, and how its leases, retries and waiting are reckoned.
    work_timeout_ms integer NOT NULL DEFAULT 60000
        CONSTRAINT stats_projection_worker_settings_work_timeout_ms CHECK (work_timeout_ms BETWEEN 100 AND 840000),
    job_lease_seconds integer NOT NULL DEFAULT 60
        CONSTRAINT stats_projection_worker_settings_job_lease_seconds CHECK (job_lease_seconds BETWEEN 3 AND 3600),
    job_backoff_seconds integer NOT NULL DEFAULT 5
        CONSTRAINT stats_projection_worker_settings_job_backoff_seconds CHECK (job_backoff_seconds BETWEEN 0 AND 86400),
    job_backoff_max_seconds integer NOT NULL DEFAULT 600
        CONSTRAINT stats_projection_worker_settings_job_backoff_max_seconds CHECK (job_backoff_max_seconds BETWEEN 1 AND 86400),
    -- A waiting job gains one step of priority in this time.
    job_aging_seconds integer NOT NULL DEFAULT 10
        CONSTRAINT stats_projection_worker_settings_job_aging_seconds CHECK (job_aging_seconds BETWEEN 1 AND 86400),
    -- Alerts: a queue whose oldest due job waits longer stands still; a function whose tick is older ticks no longer.
    alert_oldest_pending_seconds integer NOT NULL DEFAULT 300
        CONSTRAINT stats_projection_worker_settings_alert_oldest_pending_seconds CHECK (alert_oldest_pending_seconds BETWEEN 10 AND 86400),
    alert_tick_age_seconds integer NOT NULL DEFAULT 60
        CONSTRAINT stats_projection_worker_settings_alert_tick_age_seconds CHECK (alert_tick_age_seconds BETWEEN 10 AND 86400),
    note text NOT NULL DEFAULT '',
    updated_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    CONSTRAINT stats_projection_worker_settings_lease_covers_work
        CHECK (lease_seconds::bigint * 1000 > compute_timeout_ms::bigint + publish_timeout_ms::bigint)
);
COMMENT ON TABLE public.stats_projection_worker_settings IS
    'One row, read by every invocation at its start. A change takes effect at the next tick.';

INSERT INTO public.stats_projection_worker_settings DEFAULT VALUES;

CREATE TABLE public.stats_projection_worker_settings_history (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    changed_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    changed_by text NOT NULL,
    old_row jsonb NOT NULL,
    new_row jsonb NOT NULL
);
COMMENT ON TABLE public.stats_projection_worker_settings_history IS 'Every change of the settings row: before, after, who, when.';

CREATE FUNCTION tidemark.settings_stamp() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END
$$;

CREATE FUNCTION tidemark.settings_remember() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO public.stats_projection_worker_settings_history (changed_by, old_row, new_row)
    VALUES (session_user, to_jsonb(OLD), to_jsonb(NEW));
    RETURN NULL;
END
$$;

CREATE FUNCTION tidemark.settings_keep() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'the settings row cannot be deleted'
        USING ERRCODE = 'restrict_violation', HINT = 'Update it instead; its history is kept.';
END
$$;

CREATE TRIGGER settings_stamp BEFORE UPDATE ON public.stats_projection_worker_settings
    FOR EACH ROW EXECUTE FUNCTION tidemark.settings_stamp();
CREATE TRIGGER settings_remember AFTER UPDATE ON public.stats_projection_worker_settings
    FOR EACH ROW EXECUTE FUNCTION tidemark.settings_remember();
CREATE TRIGGER settings_keep BEFORE DELETE ON public.stats_projection_worker_settings
    FOR EACH ROW EXECUTE FUNCTION tidemark.settings_keep();
CREATE TRIGGER settings_keep_all BEFORE TRUNCATE ON public.stats_projection_worker_settings
    FOR EACH STATEMENT EXECUTE FUNCTION tidemark.settings_keep();
