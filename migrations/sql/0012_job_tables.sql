-- The general job queue. Operators see it as public.jobs (a view); behind it a job's body never changes, and what it waits
-- for is a small row of its own: ready, grouped, scheduled, leased or finished. docs/adr/0007 has the figures behind this shape.

CREATE SEQUENCE tidemark.job_position AS bigint CACHE 1;
COMMENT ON SEQUENCE tidemark.job_position IS
    'The age of a job. Drawn only after the transaction has its id, which is what lets a claim prove that no older job can appear.';

CREATE TABLE tidemark.job_body (
    -- Begins with the time in milliseconds (UUID version 7), so that neighbours in time are neighbours in the index.
    job_id uuid PRIMARY KEY DEFAULT pg_catalog.encode(
        pg_catalog.set_bit(pg_catalog.set_bit(
            overlay(
                pg_catalog.uuid_send(pg_catalog.gen_random_uuid())
                PLACING substring(pg_catalog.int8send((pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::bigint) FROM 3)
                FROM 1 FOR 6
            ), 52, 1), 53, 1), 'hex')::uuid,
    position bigint NOT NULL DEFAULT pg_catalog.nextval('tidemark.job_position'),
    job_type integer NOT NULL,
    priority integer NOT NULL,
    max_attempts smallint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    dedupe_key text,
    group_key text,
    payload jsonb NOT NULL
);
CREATE INDEX job_body_dedupe_key ON tidemark.job_body (dedupe_key, position) WHERE dedupe_key IS NOT NULL;
COMMENT ON TABLE tidemark.job_body IS 'What was asked for. Never changed while the job waits or runs, but for its priority by an operator.';

-- The keys of active jobs, pending or running.
CREATE TABLE tidemark.job_key (
    dedupe_key text PRIMARY KEY,
    job_id uuid NOT NULL
);

-- Claimable now. A claim deletes the row. rank is the job's position; of a job that comes back (a retry, a release, a delay that is
-- over) it is lower by 2^62, so that what comes back never hides behind the point from which claims read on.
CREATE TABLE tidemark.job_ready (
    job_type integer NOT NULL,
    priority integer NOT NULL,
    rank bigint NOT NULL,
    job_id uuid NOT NULL,
    waiting_since timestamptz NOT NULL,
    attempts smallint NOT NULL,
    -- Ran in a batch whose worker died: runs alone, so that the next death names its cause.
    suspect boolean NOT NULL DEFAULT false,
    PRIMARY KEY (job_type, priority, rank)
);
CREATE INDEX job_ready_suspect ON tidemark.job_ready (job_type, priority, rank) WHERE suspect;

-- Where claims of fresh jobs begin to read in each (type, priority). Dead index entries before that point need not be passed again
-- and again while an old snapshot keeps vacuum from removing them.
CREATE TABLE tidemark.job_lane (
    job_type integer NOT NULL,
    priority integer NOT NULL,
    -- Proven: nothing live below it, and nothing can appear there.
    floor bigint NOT NULL DEFAULT 0,
    -- Drawn before the transaction proving_xmax had its id; becomes the floor once that and all older ones are over.
    proving bigint NOT NULL DEFAULT 0,
    proving_xmax xid8 NOT NULL DEFAULT '0',
    -- Where claims begin meanwhile. What it hides (a late commit) is found by the next look from the floor.
    hint bigint NOT NULL DEFAULT 0,
    hinted_at timestamptz NOT NULL DEFAULT '-infinity',
    -- When to look from the floor again: in a second, or later where that look took long, so that looking stays below a twentieth.
    look_after timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (job_type, priority)
) WITH (fillfactor = 30);

-- Waits for its time: a delay, a backoff, a snooze; or, with its time come, to be sorted into its group.
CREATE TABLE tidemark.job_scheduled (
    job_id uuid PRIMARY KEY,
    due_at timestamptz NOT NULL,
    job_type integer NOT NULL,
    priority integer NOT NULL,
    position bigint NOT NULL,
    waiting_since timestamptz NOT NULL,
    attempts smallint NOT NULL,
    suspect boolean NOT NULL DEFAULT false,
    group_key text
);
CREATE INDEX job_scheduled_due ON tidemark.job_scheduled (due_at);

-- Claimable when its group's turn comes.
CREATE TABLE tidemark.job_grouped (
    job_type integer NOT NULL,
    group_key text NOT NULL,
    priority integer NOT NULL,
    position bigint NOT NULL,
    job_id uuid NOT NULL,
    waiting_since timestamptz NOT NULL,
    attempts smallint NOT NULL,
    suspect boolean NOT NULL DEFAULT false,
    PRIMARY KEY (job_type, group_key, priority, position)
);
CREATE INDEX job_grouped_suspect ON tidemark.job_grouped (job_type, group_key, priority, position) WHERE suspect;
CREATE TABLE tidemark.job_group (
    job_type integer NOT NULL,
    group_key text NOT NULL,
    -- How many may run at once; from public.job_limits.
    concurrency integer NOT NULL DEFAULT 2147483647,
    running integer NOT NULL DEFAULT 0 CONSTRAINT job_group_running CHECK (running >= 0),
    waiting boolean NOT NULL DEFAULT false,
    head_priority integer NOT NULL DEFAULT 100,
    -- Whose turn it is: drawn anew whenever the group is served.
    turn bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (job_type, group_key)
) WITH (fillfactor = 70);
CREATE SEQUENCE tidemark.job_turn AS bigint CACHE 1;
CREATE INDEX job_group_claimable ON tidemark.job_group (head_priority, turn) WHERE waiting AND running < concurrency;
CREATE INDEX job_group_longest ON tidemark.job_group (turn) WHERE waiting AND running < concurrency;
-- Only its holder sorts jobs whose time has come, and makes lanes known. A row, because anybody could hold an advisory lock.
CREATE TABLE tidemark.job_sorting_gate (
    id smallint PRIMARY KEY DEFAULT 1 CONSTRAINT job_sorting_gate_one_row CHECK (id = 1)
);
INSERT INTO tidemark.job_sorting_gate DEFAULT VALUES;

-- One row per claimed batch: what is in its arrays runs. A job that ends leaves the arrays, so that the fence of each job is its
-- place in a row that the worker locks. Not indexed by its end: renewing it must not move index entries.
CREATE TABLE tidemark.job_lease (
    lease_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    worker_id uuid NOT NULL,
    claimed_at timestamptz NOT NULL,
    lease_until timestamptz NOT NULL,
    lease_seconds double precision NOT NULL,
    job_ids uuid[] NOT NULL,
    attempts smallint[] NOT NULL,
    -- Jobs whose handler may have begun. NULL: nobody tells, so every one may have.
    started uuid[],
    -- Whether any of the jobs has a key, or a group, to be given back at its end.
    keyed boolean NOT NULL,
    grouped boolean NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX job_lease_worker ON tidemark.job_lease (worker_id);

-- What is known beside the body of a job that is not finished: its last error, its progress, whether to cancel it.
CREATE TABLE tidemark.job_note (
    job_id uuid PRIMARY KEY,
    last_error text NOT NULL DEFAULT '',
    progress jsonb,
    cancel_requested boolean NOT NULL DEFAULT false,
    updated_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
);

CREATE TABLE tidemark.job_finished (
    job_id uuid PRIMARY KEY,
    status smallint NOT NULL CONSTRAINT job_finished_status CHECK (status IN (3, 4)),
    attempts smallint NOT NULL,
    run_started_at timestamptz,
    finished_at timestamptz NOT NULL,
    worker_id uuid,
    result jsonb,
    progress jsonb,
    error_code text,
    last_error text
);
CREATE INDEX job_finished_dead ON tidemark.job_finished (finished_at) WHERE status = 4;
CREATE INDEX job_finished_deadline ON tidemark.job_finished (finished_at) WHERE error_code = 'deadline_exceeded';

-- Limits by job type, and quotas that several types may share.
CREATE TABLE public.job_quotas (
    quota text PRIMARY KEY CONSTRAINT job_quotas_name CHECK (quota ~ '^[a-z0-9][a-z0-9_.-]{0,62}$'),
    jobs integer NOT NULL CONSTRAINT job_quotas_jobs CHECK (jobs BETWEEN 1 AND 1000000),
    per_seconds integer NOT NULL CONSTRAINT job_quotas_per_seconds CHECK (per_seconds BETWEEN 1 AND 86400)
);
COMMENT ON TABLE public.job_quotas IS 'At most so many jobs start in any stretch of per_seconds, over all types that name the quota.';
-- When claims started jobs under a quota. Rows older than the quota's stretch are deleted by the claim that finds them.
CREATE TABLE tidemark.job_quota_use (
    quota text NOT NULL,
    used_at timestamptz NOT NULL,
    number integer NOT NULL
);
CREATE INDEX job_quota_use_quota ON tidemark.job_quota_use (quota, used_at);
CREATE TABLE public.job_limits (
    job_type integer PRIMARY KEY,
    group_concurrency integer CONSTRAINT job_limits_group_concurrency CHECK (group_concurrency BETWEEN 1 AND 100000),
    quota text REFERENCES public.job_quotas (quota)
);
-- When a type under a quota was last given a part of it. Apart from the limits, which an operator may hold in a transaction.
CREATE TABLE tidemark.job_type_served (
    job_type integer PRIMARY KEY,
    served_at timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE public.job_limits IS
    'group_concurrency: how many jobs of one group_key may run at once. quota: the quota that starting a job of this type uses up.';

CREATE FUNCTION tidemark.job_limits_follow() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE tidemark.job_group AS job_group
    SET concurrency = coalesce((SELECT limits.group_concurrency FROM public.job_limits AS limits WHERE limits.job_type = job_group.job_type), 2147483647)
    WHERE job_group.job_type IN (coalesce(NEW.job_type, OLD.job_type), coalesce(OLD.job_type, NEW.job_type));
    RETURN NULL;
END
$$;
CREATE TRIGGER job_limits_follow AFTER INSERT OR DELETE OR UPDATE OF job_type, group_concurrency ON public.job_limits
    FOR EACH ROW EXECUTE FUNCTION tidemark.job_limits_follow();
