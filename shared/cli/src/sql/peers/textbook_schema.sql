CREATE TABLE public.job (
    job_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_type integer NOT NULL,
    status smallint NOT NULL DEFAULT 1,
    priority integer NOT NULL DEFAULT 100,
    payload jsonb NOT NULL,
    result jsonb,
    dedupe_key text,
    attempts integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL DEFAULT 3,
    worker_id uuid,
    lease_until timestamptz,
    run_after timestamptz NOT NULL DEFAULT clock_timestamp(),
    run_started_at timestamptz,
    last_error text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX job_pending ON public.job (priority, job_id) WHERE status = 1;
CREATE UNIQUE INDEX job_dedupe ON public.job (dedupe_key) WHERE dedupe_key IS NOT NULL AND status IN (1, 2);
