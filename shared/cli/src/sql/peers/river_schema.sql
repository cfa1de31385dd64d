CREATE TYPE public.river_state AS ENUM ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled');
CREATE TABLE public.river_job (
    id bigserial PRIMARY KEY,
    state public.river_state NOT NULL DEFAULT 'available',
    attempt smallint NOT NULL DEFAULT 0,
    max_attempts smallint NOT NULL DEFAULT 3,
    attempted_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finalized_at timestamptz,
    scheduled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    priority smallint NOT NULL DEFAULT 1,
    args jsonb NOT NULL,
    attempted_by text[],
    errors jsonb[],
    kind text NOT NULL,
    metadata jsonb NOT NULL DEFAULT '{}',
    queue text NOT NULL DEFAULT 'default',
    tags text[] NOT NULL DEFAULT '{}',
    CONSTRAINT river_job_finalized CHECK ((state IN ('cancelled', 'completed', 'discarded')) = (finalized_at IS NOT NULL))
);
CREATE INDEX river_job_kind ON public.river_job (kind);
CREATE INDEX river_job_finalized ON public.river_job (state, finalized_at) WHERE finalized_at IS NOT NULL;
CREATE INDEX river_job_fetching ON public.river_job (state, queue, priority, scheduled_at, id);
