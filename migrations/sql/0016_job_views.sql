-- How operators and programs see jobs: one view with the documented columns, and the documented updates through it.

CREATE VIEW public.jobs WITH (security_barrier = true) AS
    SELECT body.job_id, body.job_type,
        coalesce(finished.status, CASE WHEN held.job_id IS NOT NULL THEN 2 ELSE 1 END)::smallint AS status,
        body.priority, body.payload, finished.result, coalesce(finished.progress, note.progress) AS progress, body.dedupe_key,
        coalesce(finished.attempts, held.attempts, ready.attempts, returned.attempts, scheduled.attempts, grouped.attempts, 0)::integer AS attempts,
        body.max_attempts::integer AS max_attempts, coalesce(held.worker_id, finished.worker_id) AS worker_id, held.lease_until,
        coalesce(scheduled.due_at, body.created_at) AS run_after, coalesce(held.claimed_at, finished.run_started_at) AS run_started_at,
        coalesce(finished.last_error, note.last_error, '') AS last_error, body.created_at,
        coalesce(finished.finished_at, held.claimed_at, note.updated_at, body.created_at) AS updated_at,
        body.group_key, coalesce(note.cancel_requested, false) AS cancel_requested, finished.error_code
    FROM tidemark.job_body AS body
    LEFT JOIN tidemark.job_finished AS finished ON finished.job_id = body.job_id
    LEFT JOIN tidemark.job_note AS note ON note.job_id = body.job_id
    LEFT JOIN tidemark.job_scheduled AS scheduled ON scheduled.job_id = body.job_id
    LEFT JOIN tidemark.job_ready AS ready
        ON ready.job_type = body.job_type AND ready.priority = body.priority AND ready.rank = body.position
    LEFT JOIN tidemark.job_ready AS returned
        ON returned.job_type = body.job_type AND returned.priority = body.priority AND returned.rank = body.position - 4611686018427387904
    LEFT JOIN tidemark.job_grouped AS grouped
        ON grouped.job_type = body.job_type AND grouped.group_key = body.group_key AND grouped.priority = body.priority AND grouped.position = body.position
    LEFT JOIN (
        SELECT member.job_id, member.attempts, lease.worker_id, lease.lease_until, lease.claimed_at
        FROM tidemark.job_lease AS lease CROSS JOIN LATERAL unnest(lease.job_ids, lease.attempts) AS member (job_id, attempts)
    ) AS held ON held.job_id = body.job_id;
COMMENT ON VIEW public.jobs IS
    'The general queue. status: 1 pending, 2 running, 3 done, 4 dead. Updates that are understood: status 4 to 1 (requeue), 1 or 2 to 4 (cancel), priority and run_after of pending jobs.';

-- Moves a pending job to another priority, and to another time: NULL or one that has passed is now.
CREATE FUNCTION tidemark.job_move(p_job_id uuid, p_priority integer, p_run_after timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_body tidemark.job_body;
    v_waiting record;
    v_problem text;
    v_delay double precision := CASE WHEN p_run_after = '-infinity' THEN 0 WHEN isfinite(coalesce(p_run_after, now()))
        THEN greatest(extract(epoch FROM coalesce(p_run_after, clock_timestamp()) - clock_timestamp()), 0) ELSE 'infinity' END;
BEGIN
    SELECT body.* INTO v_body FROM tidemark.job_body AS body WHERE body.job_id = p_job_id FOR UPDATE;
    v_problem := tidemark.job_problem(v_body.job_type, '{}', NULL, p_priority, v_delay, 1, NULL);
    IF v_problem IS NOT NULL THEN
        RAISE EXCEPTION '%', v_problem USING ERRCODE = 'invalid_parameter_value', HINT = 'run_after must be within a year.';
    END IF;
    SELECT * INTO v_waiting FROM tidemark.job_withdraw(v_body);
    IF NOT v_waiting.withdrawn THEN
        RETURN false;
    END IF;
    UPDATE tidemark.job_body AS body SET priority = p_priority WHERE body.job_id = p_job_id;
    PERFORM tidemark.jobs_wait_again(ARRAY[p_job_id], ARRAY[v_waiting.attempts], ARRAY[v_delay], ARRAY[v_waiting.suspect]);
    RETURN true;
END
$$;

CREATE FUNCTION tidemark.jobs_updated() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_outcome record;
    v_requeued boolean := OLD.status = 4 AND NEW.status = 1;
BEGIN
    -- Only what is understood may change, so that nothing is taken for done that was not; a requeue may say attempts = 0.
    IF to_jsonb(NEW) - '{status,priority,run_after,attempts}'::text[] IS DISTINCT FROM to_jsonb(OLD) - '{status,priority,run_after,attempts}'::text[]
        OR (NEW.attempts IS DISTINCT FROM OLD.attempts AND NOT (v_requeued AND NEW.attempts = 0))
    THEN
        RAISE EXCEPTION 'this column of public.jobs cannot be changed' USING ERRCODE = 'feature_not_supported',
            HINT = 'status (4 to 1 requeues, 1 or 2 to 4 cancels), priority and run_after of pending jobs can be.';
    END IF;
    IF v_requeued THEN
        SELECT * INTO v_outcome FROM tidemark.jobs_requeue_v1(ARRAY[OLD.job_id]);
        IF v_outcome.outcome = 'twin' THEN
            RAISE EXCEPTION 'an active job has the same dedupe_key' USING ERRCODE = 'unique_violation', HINT = 'Cancel that job first, or leave this one.';
        ELSIF v_outcome.outcome <> 'pending' THEN
            -- Requeued by somebody else meanwhile: a row that was not updated.
            RETURN NULL;
        END IF;
    ELSIF OLD.status IN (1, 2) AND NEW.status = 4 THEN
        IF NEW.priority IS DISTINCT FROM OLD.priority OR NEW.run_after IS DISTINCT FROM OLD.run_after THEN
            RAISE EXCEPTION 'a job cannot be cancelled and moved at once' USING ERRCODE = 'feature_not_supported', HINT = 'Set status alone.';
        END IF;
        RETURN CASE WHEN tidemark.job_cancel_v1(OLD.job_id) IN ('dead', 'requested') THEN NEW END;
    ELSIF NEW.status IS DISTINCT FROM OLD.status THEN
        RAISE EXCEPTION 'a job cannot go from status % to %', OLD.status, NEW.status USING ERRCODE = 'feature_not_supported',
            HINT = '4 to 1 requeues, 1 or 2 to 4 cancels; workers do everything else.';
    END IF;
    IF NEW.priority IS DISTINCT FROM OLD.priority OR NEW.run_after IS DISTINCT FROM OLD.run_after THEN
        IF NOT tidemark.job_move(OLD.job_id, NEW.priority, NEW.run_after) THEN
            IF OLD.status = 1 THEN
                -- Claimed or ended by somebody else meanwhile: a row that was not updated.
                RETURN NULL;
            END IF;
            RAISE EXCEPTION 'only a pending job can be moved' USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'This one runs or has ended.';
        END IF;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER jobs_updated INSTEAD OF UPDATE ON public.jobs FOR EACH ROW EXECUTE FUNCTION tidemark.jobs_updated();

CREATE FUNCTION tidemark.job_get_v1(p_job_id uuid) RETURNS SETOF public.jobs
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT job.* FROM public.jobs AS job WHERE job.job_id = p_job_id
$$;

-- The active job of a key, or with p_finished_too the newest one.
CREATE FUNCTION tidemark.job_find_v1(p_dedupe_key text, p_finished_too boolean) RETURNS SETOF public.jobs
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT job.* FROM public.jobs AS job
    WHERE job.job_id = CASE WHEN p_finished_too THEN (
            SELECT body.job_id FROM tidemark.job_body AS body WHERE body.dedupe_key = p_dedupe_key ORDER BY body.position DESC LIMIT 1)
        ELSE (SELECT job_key.job_id FROM tidemark.job_key AS job_key WHERE job_key.dedupe_key = p_dedupe_key) END
$$;

-- Rows of a table counted up to 100,000 exactly, beyond that as the planner knows them: a look at the queue must stay cheap however
-- deep it is.
CREATE FUNCTION tidemark.count_about(p_exact bigint, p_table regclass) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN p_exact <= 100000 THEN p_exact ELSE (
        SELECT greatest(p_exact, (relation.reltuples / greatest(relation.relpages, 1) * pg_relation_size(p_table) / 8192)::bigint)
        FROM pg_class AS relation WHERE relation.oid = p_table) END
$$;

-- How long the longest waiting due job has been due: the heads of the lanes, of the groups and of the schedule.
CREATE FUNCTION tidemark.jobs_oldest_pending_seconds() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT coalesce(greatest(extract(epoch FROM clock_timestamp() - min(heads.since)), 0)::bigint, 0)
    FROM (
        SELECT first.waiting_since AS since
        FROM tidemark.job_lane AS lane
        CROSS JOIN LATERAL (VALUES (-4611686018427387904::bigint, -1::bigint), (lane.hint, 4611686018427387904::bigint)) AS half (low, high)
        CROSS JOIN LATERAL (
            SELECT ready.waiting_since FROM tidemark.job_ready AS ready
            WHERE ready.job_type = lane.job_type AND ready.priority = lane.priority AND ready.rank BETWEEN half.low AND half.high
            ORDER BY ready.rank LIMIT 1
        ) AS first
        UNION ALL
        -- Lanes that no claim has seen yet: with nobody claiming, the first rows of the table stand for them.
        (SELECT ready.waiting_since FROM tidemark.job_ready AS ready ORDER BY ready.job_type, ready.priority, ready.rank LIMIT 1)
        UNION ALL
        (SELECT scheduled.due_at FROM tidemark.job_scheduled AS scheduled WHERE scheduled.due_at <= statement_timestamp() ORDER BY scheduled.due_at LIMIT 1)
        UNION ALL
        (SELECT min(first.waiting_since)
        FROM (SELECT * FROM tidemark.job_group AS listed WHERE listed.waiting ORDER BY listed.job_type, listed.group_key LIMIT 1000) AS job_group
        CROSS JOIN LATERAL (
            SELECT grouped.waiting_since FROM tidemark.job_grouped AS grouped
            WHERE grouped.job_type = job_group.job_type AND grouped.group_key = job_group.group_key
            ORDER BY grouped.priority, grouped.position LIMIT 1
        ) AS first)
    ) AS heads
$$;

-- Counts by status (cancelled ones are among the dead), and what an operator looks at first. exact is false where a count above 100,000 is an estimate.
CREATE FUNCTION tidemark.jobs_ops_v1() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    WITH numbers AS MATERIALIZED (
        SELECT (SELECT count(*) FROM (SELECT FROM tidemark.job_ready LIMIT 100001) AS counted) AS ready,
            (SELECT count(*) FROM (SELECT FROM tidemark.job_scheduled LIMIT 100001) AS counted) AS scheduled,
            (SELECT count(*) FROM (SELECT FROM tidemark.job_grouped LIMIT 100001) AS counted) AS grouped,
            (SELECT count(*) FROM (SELECT FROM tidemark.job_finished LIMIT 100001) AS counted) AS finished,
            dead.number AS dead, dead.cancelled
        FROM (
            SELECT count(*) AS number, count(*) FILTER (WHERE counted.error_code = 'cancelled') AS cancelled
            FROM (SELECT finished.error_code FROM tidemark.job_finished AS finished WHERE finished.status = 4 LIMIT 100001) AS counted
        ) AS dead
    ), live AS MATERIALIZED (
        SELECT lease.lease_until, lease.claimed_at, cardinality(lease.job_ids) AS number FROM tidemark.job_lease AS lease
    )
    SELECT jsonb_build_object(
        'pending', tidemark.count_about(numbers.ready, 'tidemark.job_ready') + tidemark.count_about(numbers.scheduled, 'tidemark.job_scheduled')
            + tidemark.count_about(numbers.grouped, 'tidemark.job_grouped'),
        'scheduled', tidemark.count_about(numbers.scheduled, 'tidemark.job_scheduled'),
        'running', (SELECT coalesce(sum(live.number), 0) FROM live),
        'done', greatest(tidemark.count_about(numbers.finished, 'tidemark.job_finished') - numbers.dead, 0),
        'dead', numbers.dead,
        'cancelled', numbers.cancelled,
        'exact', greatest(numbers.ready, numbers.scheduled, numbers.grouped, numbers.finished, numbers.dead) <= 100000,
        'oldest_pending_seconds', tidemark.jobs_oldest_pending_seconds(),
        'dead_last_hour', (SELECT count(*) FROM (SELECT FROM tidemark.job_finished AS finished
            WHERE finished.status = 4 AND finished.finished_at > statement_timestamp() - interval '1 hour' LIMIT 100001) AS counted),
        'deadline_exceeded_last_hour', (SELECT count(*) FROM (SELECT FROM tidemark.job_finished AS finished
            WHERE finished.error_code = 'deadline_exceeded' AND finished.finished_at > statement_timestamp() - interval '1 hour' LIMIT 100001) AS counted),
        'stuck', (SELECT coalesce(sum(live.number), 0) FROM live
            WHERE live.lease_until <= clock_timestamp() OR live.claimed_at < clock_timestamp() - interval '10 minutes'),
        'leases', (SELECT count(*) FROM live WHERE live.lease_until > clock_timestamp()),
        'expired_unrecovered', (SELECT count(*) FROM live WHERE live.lease_until <= clock_timestamp())
    )
    FROM numbers
$$;
