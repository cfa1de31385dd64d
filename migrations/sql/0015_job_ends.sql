-- How claimed jobs end, and how leases are renewed, reaped and given up. Every write is fenced by (job, worker, attempt): the lease
-- row is locked first, then the arrays of that row decide. Locks are taken in the order lease, key, group.

-- 5 s × 2^(attempts − 1) by default, at most 600 s, with up to a quarter less so that failures do not come back in step. The exponent
-- is clamped before it is used, because 2^1100 raises an error where it should have been cut.
CREATE FUNCTION tidemark.job_backoff_seconds(p_attempts integer, p_base double precision, p_cap double precision) RETURNS double precision
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT least(p_cap, p_base * power(2::double precision, least(greatest(p_attempts, 1) - 1, 40))) * (1 - random() / 4)
$$;

-- Text of a failure as it can be stored and shown: 2000 characters at most.
CREATE FUNCTION tidemark.job_error_text(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT left(coalesce(p_text, ''), 2000)
$$;

-- Gives back what jobs held beside their lease: keys, places in their groups.
CREATE FUNCTION tidemark.jobs_let_go(p_job_ids uuid[], p_finished uuid[], p_keyed boolean, p_grouped boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    IF p_keyed AND cardinality(p_finished) > 0 THEN
        PERFORM FROM tidemark.job_key AS job_key
        JOIN tidemark.job_body AS body ON body.dedupe_key = job_key.dedupe_key
        WHERE body.job_id = ANY (p_finished) AND job_key.job_id = body.job_id
        ORDER BY job_key.dedupe_key
        FOR UPDATE OF job_key;
        DELETE FROM tidemark.job_key AS job_key USING tidemark.job_body AS body
        WHERE body.job_id = ANY (p_finished) AND job_key.dedupe_key = body.dedupe_key AND job_key.job_id = body.job_id;
    END IF;
    IF p_grouped THEN
        WITH places AS (
            SELECT body.job_type, body.group_key, count(*)::integer AS number
            FROM tidemark.job_body AS body
            WHERE body.job_id = ANY (p_job_ids) AND body.group_key IS NOT NULL
            GROUP BY body.job_type, body.group_key
        ), locked AS MATERIALIZED (
            SELECT job_group.job_type, job_group.group_key, places.number
            FROM tidemark.job_group AS job_group
            JOIN places ON places.job_type = job_group.job_type AND places.group_key = job_group.group_key
            ORDER BY job_group.job_type, job_group.group_key
            FOR UPDATE OF job_group
        )
        UPDATE tidemark.job_group AS job_group SET running = greatest(job_group.running - locked.number, 0)
        FROM locked WHERE locked.job_type = job_group.job_type AND locked.group_key = job_group.group_key;
        DELETE FROM tidemark.job_group AS job_group USING tidemark.job_body AS body
        WHERE body.job_id = ANY (p_job_ids) AND body.group_key IS NOT NULL
            AND job_group.job_type = body.job_type AND job_group.group_key = body.group_key
            AND job_group.running = 0 AND NOT job_group.waiting;
    END IF;
END
$$;

-- Takes jobs out of leases of a worker. Locks the leases in their order first; what is not there any more is not returned. A job is
-- taken only from the lease that is named with it: an attempt that was given back is granted again under another one.
-- Returns each job that was still held, with what is needed to put it elsewhere.
CREATE TYPE tidemark.released_job AS (job_id uuid, attempts smallint, claimed_at timestamptz, keyed boolean, grouped boolean, place bigint);
CREATE FUNCTION tidemark.jobs_take_back(p_worker_id uuid, p_lease_ids bigint[], p_job_ids uuid[], p_attempts integer[])
RETURNS SETOF tidemark.released_job
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_lease tidemark.job_lease;
    v_held tidemark.released_job[];
    v_kept uuid[];
BEGIN
    FOR v_lease IN
        SELECT lease.* FROM tidemark.job_lease AS lease
        WHERE (p_lease_ids IS NOT NULL AND lease.lease_id = ANY (p_lease_ids) AND lease.worker_id = p_worker_id)
            OR (p_lease_ids IS NULL AND lease.worker_id = p_worker_id)
        ORDER BY lease.lease_id
        FOR UPDATE
    LOOP
        v_held := ARRAY(
            SELECT (held.job_id, held.attempts, v_lease.claimed_at, v_lease.keyed, v_lease.grouped, min(given.place))::tidemark.released_job
            FROM unnest(v_lease.job_ids, v_lease.attempts) AS held (job_id, attempts)
            JOIN unnest(p_lease_ids, p_job_ids, p_attempts) WITH ORDINALITY AS given (lease_id, job_id, attempts, place)
                ON given.job_id = held.job_id AND given.attempts = held.attempts AND coalesce(given.lease_id = v_lease.lease_id, true)
            GROUP BY held.job_id, held.attempts
        );
        CONTINUE WHEN cardinality(v_held) = 0;
        IF cardinality(v_held) = cardinality(v_lease.job_ids) THEN
            DELETE FROM tidemark.job_lease AS lease WHERE lease.lease_id = v_lease.lease_id;
        ELSE
            v_kept := ARRAY(SELECT held.job_id FROM unnest(v_held) AS held);
            UPDATE tidemark.job_lease AS lease
            SET (job_ids, attempts) = (
                    SELECT array_agg(kept.job_id ORDER BY kept.place), array_agg(kept.attempts ORDER BY kept.place)
                    FROM unnest(v_lease.job_ids, v_lease.attempts) WITH ORDINALITY AS kept (job_id, attempts, place)
                    WHERE kept.job_id <> ALL (v_kept)
                ),
                started = CASE WHEN lease.started IS NOT NULL THEN ARRAY(SELECT begun FROM unnest(lease.started) AS begun WHERE begun <> ALL (v_kept)) END
            WHERE lease.lease_id = v_lease.lease_id;
        END IF;
        RETURN QUERY SELECT held.* FROM unnest(v_held) AS held;
    END LOOP;
END
$$;

-- Makes jobs wait again: at once, or after p_delays seconds. Their attempts are as given. What came back keeps its place among jobs of
-- its priority; its waiting, by which priority improves, begins anew when it can be claimed.
CREATE FUNCTION tidemark.jobs_wait_again(p_job_ids uuid[], p_attempts integer[], p_delays double precision[], p_suspects boolean[]) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    WITH waiting AS MATERIALIZED (
        SELECT body.*, given.attempts, coalesce(given.delay, 0) AS delay, given.suspect
        FROM unnest(p_job_ids, p_attempts, p_delays, p_suspects) AS given (job_id, attempts, delay, suspect)
        JOIN tidemark.job_body AS body ON body.job_id = given.job_id
    ), ready AS (
        INSERT INTO tidemark.job_ready (job_type, priority, rank, job_id, waiting_since, attempts, suspect)
        SELECT waiting.job_type, waiting.priority, waiting.position - 4611686018427387904, waiting.job_id, clock_timestamp(), waiting.attempts, waiting.suspect
        FROM waiting WHERE waiting.delay <= 0 AND waiting.group_key IS NULL
    )
    INSERT INTO tidemark.job_scheduled (job_id, due_at, job_type, priority, position, waiting_since, attempts, suspect, group_key)
    SELECT waiting.job_id, clock_timestamp() + make_interval(secs => waiting.delay), waiting.job_type, waiting.priority, waiting.position,
        waiting.created_at, waiting.attempts, waiting.suspect, waiting.group_key
    FROM waiting WHERE waiting.delay > 0 OR waiting.group_key IS NOT NULL
$$;

-- Remembers the last error of jobs that wait again.
CREATE FUNCTION tidemark.jobs_note_errors(p_job_ids uuid[], p_errors text[]) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO tidemark.job_note AS note (job_id, last_error)
    SELECT given.job_id, tidemark.job_error_text(given.error) FROM unnest(p_job_ids, p_errors) AS given (job_id, error) ORDER BY given.job_id
    ON CONFLICT (job_id) DO UPDATE SET last_error = excluded.last_error, updated_at = clock_timestamp()
$$;

-- Writes jobs down as finished and raises one alert per type of those that died. Jobs of type 1 deliver alerts and never alert about
-- themselves; a cancelled job is no trouble.
CREATE FUNCTION tidemark.jobs_finish(
    p_worker_id uuid, p_job_ids uuid[], p_statuses integer[], p_attempts integer[], p_claimed_at timestamptz[], p_results jsonb[], p_codes text[], p_errors text[]
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_dead record;
BEGIN
    INSERT INTO tidemark.job_finished (job_id, status, attempts, run_started_at, finished_at, worker_id, result, progress, error_code, last_error)
    SELECT given.job_id, given.status, given.attempts, given.claimed_at, clock_timestamp(), p_worker_id, given.result, note.progress, given.code,
        coalesce(tidemark.job_error_text(given.error), note.last_error)
    FROM unnest(p_job_ids, p_statuses, p_attempts, p_claimed_at, p_results, p_codes, p_errors)
        AS given (job_id, status, attempts, claimed_at, result, code, error)
    LEFT JOIN tidemark.job_note AS note ON note.job_id = given.job_id;
    DELETE FROM tidemark.job_note AS note WHERE note.job_id = ANY (p_job_ids);
    IF 4 = ANY (p_statuses) THEN
        FOR v_dead IN
            SELECT body.job_type, min(given.code) AS code, count(*) AS number
            FROM unnest(p_job_ids, p_statuses, p_codes) AS given (job_id, status, code)
            JOIN tidemark.job_body AS body ON body.job_id = given.job_id
            WHERE given.status = 4 AND given.code IS DISTINCT FROM 'cancelled' AND body.job_type <> 1
            GROUP BY body.job_type
            ORDER BY body.job_type
        LOOP
            PERFORM tidemark.raise_alert('job_dead', 'job_type ' || v_dead.job_type, coalesce(v_dead.code, ''), v_dead.number);
        END LOOP;
    END IF;
END
$$;

-- What becomes of a job that leaves its lease: its fate is done, dead or pending.
CREATE TYPE tidemark.job_ending AS (
    job_id uuid,
    attempts smallint,
    claimed_at timestamptz,
    fate text,
    asked text,
    result jsonb,
    code text,
    error text,
    delay double precision
);

-- Puts jobs that left their lease where their fate says. Attempts of snoozed and released jobs are given back.
CREATE FUNCTION tidemark.jobs_settle(p_worker_id uuid, p_ended tidemark.job_ending[], p_keyed boolean, p_grouped boolean, p_suspects uuid[] DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_finished uuid[] := ARRAY(SELECT ended.job_id FROM unnest(p_ended) AS ended WHERE ended.fate <> 'pending');
BEGIN
    IF cardinality(v_finished) > 0 THEN
        PERFORM tidemark.jobs_finish(p_worker_id, array_agg(ended.job_id), array_agg(CASE WHEN ended.fate = 'done' THEN 3 ELSE 4 END),
            array_agg(ended.attempts::integer), array_agg(ended.claimed_at), array_agg(ended.result), array_agg(ended.code), array_agg(ended.error))
        FROM unnest(p_ended) AS ended WHERE ended.fate <> 'pending';
    END IF;
    IF cardinality(v_finished) < cardinality(p_ended) THEN
        PERFORM tidemark.jobs_note_errors(array_agg(ended.job_id), array_agg(ended.error))
        FROM unnest(p_ended) AS ended WHERE ended.fate = 'pending' AND ended.asked = 'fail';
        PERFORM tidemark.jobs_wait_again(array_agg(ended.job_id),
            array_agg(CASE WHEN ended.asked = 'fail' THEN ended.attempts ELSE ended.attempts - 1 END::integer),
            array_agg(ended.delay), array_agg(ended.job_id = ANY (p_suspects)))
        FROM unnest(p_ended) AS ended WHERE ended.fate = 'pending';
    END IF;
    IF p_keyed OR p_grouped THEN
        PERFORM tidemark.jobs_let_go(ARRAY(SELECT ended.job_id FROM unnest(p_ended) AS ended), v_finished, p_keyed, p_grouped);
    END IF;
END
$$;

-- Ends a whole lease as done, which is how most end: the lease holds these jobs and attempts and no others, in this order. Says
-- whether it did; otherwise nothing was changed. One statement finds, fences and deletes the lease; under its lock nobody adds a note.
CREATE FUNCTION tidemark.jobs_end_whole(p_worker_id uuid, p_lease_id bigint, p_job_ids uuid[], p_attempts integer[], p_results jsonb[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_lease record;
BEGIN
    DELETE FROM tidemark.job_lease AS lease
    WHERE lease.lease_id = p_lease_id AND lease.worker_id = p_worker_id
        AND lease.job_ids = p_job_ids AND lease.attempts::integer[] = p_attempts
    RETURNING lease.claimed_at, lease.keyed, lease.grouped INTO v_lease;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF EXISTS (SELECT FROM tidemark.job_note AS note WHERE note.job_id = ANY (p_job_ids)) THEN
        PERFORM tidemark.jobs_finish(p_worker_id, p_job_ids, array_agg(3), p_attempts, array_agg(v_lease.claimed_at),
            p_results, array_agg(NULL::text), array_agg(NULL::text))
        FROM unnest(p_job_ids);
    ELSE
        INSERT INTO tidemark.job_finished (job_id, status, attempts, run_started_at, finished_at, worker_id, result)
        SELECT given.job_id, 3, given.attempts, v_lease.claimed_at, clock_timestamp(), p_worker_id, given.result
        FROM unnest(p_job_ids, p_attempts, p_results) AS given (job_id, attempts, result);
    END IF;
    IF v_lease.keyed OR v_lease.grouped THEN
        PERFORM tidemark.jobs_let_go(p_job_ids, p_job_ids, v_lease.keyed, v_lease.grouped);
    END IF;
    RETURN true;
END
$$;

-- Ends claimed jobs, each on its own. Outcomes: done, fail (again after a backoff, dead when the attempts are used up), dead (at once),
-- snooze (again after the delay, the attempt given back), release (again now, the attempt given back). p_results go with done, p_codes
-- and p_errors with fail and dead, p_delays with snooze, and with fail in place of the backoff. p_begin names jobs of the same
-- worker whose handlers begin now. Answers one word per job, in the order given: done, dead, pending, or lost where the fence does
-- not hold: then nothing was changed for that job.
CREATE FUNCTION tidemark.jobs_end_v1(
    p_worker_id uuid, p_lease_ids bigint[], p_job_ids uuid[], p_attempts integer[], p_outcomes text[],
    p_results jsonb[] DEFAULT NULL, p_codes text[] DEFAULT NULL, p_errors text[] DEFAULT NULL, p_delays double precision[] DEFAULT NULL, p_begin uuid[] DEFAULT NULL
) RETURNS TABLE (job_id uuid, outcome text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_settings public.stats_projection_worker_settings;
    v_ended tidemark.job_ending[];
    v_places bigint[];
    v_words text[];
    v_keyed boolean;
    v_grouped boolean;
BEGIN
    IF cardinality(p_outcomes) IS DISTINCT FROM cardinality(p_job_ids) OR cardinality(p_attempts) IS DISTINCT FROM cardinality(p_job_ids) THEN
        RAISE EXCEPTION 'each job needs its attempt and its outcome' USING ERRCODE = 'invalid_parameter_value', HINT = 'Nothing was ended.';
    END IF;
    IF p_delays IS NOT NULL AND EXISTS (SELECT FROM unnest(p_delays) AS given (delay) WHERE NOT given.delay BETWEEN 0 AND 31536000) THEN
        RAISE EXCEPTION 'delay_seconds must be from 0 to 31536000 (a year)' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF p_begin IS NULL AND cardinality(p_lease_ids) = 1 AND cardinality(p_outcomes) = cardinality(p_job_ids) AND 'done' = ALL (p_outcomes)
        AND coalesce(cardinality(p_results), 0) <= cardinality(p_job_ids)
    THEN
        IF tidemark.jobs_end_whole(p_worker_id, p_lease_ids[1], p_job_ids, p_attempts, p_results) THEN
            RETURN QUERY SELECT given.job_id, 'done' FROM unnest(p_job_ids) AS given (job_id);
            RETURN;
        END IF;
    END IF;
    IF EXISTS (SELECT FROM unnest(p_outcomes) AS given (outcome) WHERE given.outcome IS NULL OR given.outcome NOT IN ('done', 'fail', 'dead', 'snooze', 'release')) THEN
        RAISE EXCEPTION 'an outcome is one of done, fail, dead, snooze, release' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT * INTO v_settings FROM public.stats_projection_worker_settings;
    WITH held AS MATERIALIZED (
        SELECT * FROM tidemark.jobs_take_back(p_worker_id, p_lease_ids, p_job_ids, p_attempts)
    ), fates AS (
        SELECT held.*, given.result, given.code, given.error, given.delay, given.outcome AS asked,
            CASE
                WHEN given.outcome IN ('done', 'dead') THEN given.outcome
                WHEN EXISTS (SELECT FROM tidemark.job_note AS note WHERE note.job_id = held.job_id AND note.cancel_requested) THEN 'cancelled'
                WHEN given.outcome = 'fail' AND held.attempts >= (SELECT body.max_attempts FROM tidemark.job_body AS body WHERE body.job_id = held.job_id) THEN 'dead'
                ELSE 'pending'
            END AS fate
        FROM held
        JOIN unnest(p_job_ids, p_outcomes, p_results, p_codes, p_errors, p_delays) WITH ORDINALITY
            AS given (job_id, outcome, result, code, error, delay, place) ON given.place = held.place
    )
    SELECT array_agg((fates.job_id, fates.attempts, fates.claimed_at,
            CASE WHEN fates.fate = 'cancelled' THEN 'dead' ELSE fates.fate END, fates.asked,
            CASE WHEN fates.fate = 'done' THEN fates.result END,
            CASE WHEN fates.fate = 'cancelled' THEN 'cancelled' WHEN fates.asked IN ('fail', 'dead') THEN coalesce(fates.code, 'failed') END,
            CASE WHEN fates.fate = 'cancelled' THEN coalesce(fates.error, 'cancelled') WHEN fates.asked IN ('fail', 'dead') THEN coalesce(fates.error, '') END,
            CASE
                WHEN fates.asked = 'release' THEN 0
                WHEN fates.asked = 'snooze' THEN coalesce(fates.delay, 0)
                WHEN fates.asked = 'fail' THEN coalesce(fates.delay, tidemark.job_backoff_seconds(fates.attempts, v_settings.job_backoff_seconds, v_settings.job_backoff_max_seconds))
            END)::tidemark.job_ending),
        array_agg(fates.place), array_agg(CASE WHEN fates.fate = 'cancelled' THEN 'dead' ELSE fates.fate END),
        bool_or(fates.keyed), bool_or(fates.grouped)
    INTO v_ended, v_places, v_words, v_keyed, v_grouped
    FROM fates;
    IF v_ended IS NOT NULL THEN
        PERFORM tidemark.jobs_settle(p_worker_id, v_ended, v_keyed, v_grouped);
    END IF;
    IF p_begin IS NOT NULL THEN
        PERFORM tidemark.jobs_start_v1(p_worker_id, p_begin);
    END IF;
    RETURN QUERY
    SELECT given.job_id, coalesce(ended.word, 'lost')
    FROM unnest(p_job_ids) WITH ORDINALITY AS given (job_id, place)
    LEFT JOIN unnest(v_places, v_words) AS ended (place, word) ON ended.place = given.place
    ORDER BY given.place;
END
$$;

-- Notes that handlers of these jobs begin: from now on they can be blamed for the death of their worker. Leases that tell only.
CREATE FUNCTION tidemark.jobs_start_v1(p_worker_id uuid, p_job_ids uuid[]) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    UPDATE tidemark.job_lease AS lease
    SET started = ARRAY(
        SELECT begun FROM unnest(lease.started) AS begun
        UNION SELECT begun FROM unnest(p_job_ids) AS begun WHERE begun = ANY (lease.job_ids)
    )
    WHERE lease.worker_id = p_worker_id AND lease.started IS NOT NULL AND lease.job_ids && p_job_ids
$$;

-- Renews the leases that hold these jobs while they are alive: the lock first, then the clock. Answers per job: its new end, NULL
-- where the lease is lost, and whether somebody asked to cancel it.
CREATE FUNCTION tidemark.jobs_renew_v1(p_worker_id uuid, p_lease_ids bigint[], p_job_ids uuid[], p_attempts integer[], p_lease_seconds double precision DEFAULT NULL)
RETURNS TABLE (job_id uuid, lease_until timestamptz, cancel_requested boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_lease_ids bigint[];
BEGIN
    IF NOT coalesce(p_lease_seconds, 1) BETWEEN 0.1 AND 3600 THEN
        RAISE EXCEPTION 'lease_seconds must be from 0.1 to 3600' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    WITH held AS MATERIALIZED (
        SELECT lease.lease_id, lease.lease_until
        FROM tidemark.job_lease AS lease
        WHERE lease.worker_id = p_worker_id AND (p_lease_ids IS NULL OR lease.lease_id = ANY (p_lease_ids)) AND lease.job_ids && p_job_ids
        ORDER BY lease.lease_id
        FOR UPDATE
    )
    SELECT array_agg(held.lease_id) INTO v_lease_ids FROM held;
    UPDATE tidemark.job_lease AS lease
    SET lease_until = clock_timestamp() + make_interval(secs => coalesce(p_lease_seconds, lease.lease_seconds))
    WHERE lease.lease_id = ANY (v_lease_ids) AND lease.lease_until > clock_timestamp()
        AND EXISTS (
            SELECT FROM unnest(lease.job_ids, lease.attempts) AS held (job_id, attempts)
            JOIN unnest(p_lease_ids, p_job_ids, p_attempts) AS given (lease_id, job_id, attempts)
                ON given.job_id = held.job_id AND given.attempts = held.attempts AND coalesce(given.lease_id = lease.lease_id, true)
        );
    RETURN QUERY
    SELECT given.job_id, held.lease_until,
        EXISTS (SELECT FROM tidemark.job_note AS note WHERE note.job_id = given.job_id AND note.cancel_requested)
    FROM unnest(p_lease_ids, p_job_ids, p_attempts) WITH ORDINALITY AS given (lease_id, job_id, attempts, place)
    LEFT JOIN (
        SELECT lease.lease_id, member.job_id, member.attempts, lease.lease_until
        FROM tidemark.job_lease AS lease CROSS JOIN LATERAL unnest(lease.job_ids, lease.attempts) AS member (job_id, attempts)
        WHERE lease.lease_id = ANY (v_lease_ids) AND lease.lease_until > clock_timestamp()
    ) AS held ON held.job_id = given.job_id AND held.attempts = given.attempts AND coalesce(given.lease_id = held.lease_id, true)
    ORDER BY given.place;
END
$$;

-- Stores the progress of a running job whose lease is alive. Says whether it did.
CREATE FUNCTION tidemark.job_progress_v1(p_worker_id uuid, p_job_id uuid, p_attempt integer, p_progress jsonb, p_lease_id bigint DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_lease tidemark.job_lease;
BEGIN
    IF pg_column_size(p_progress) > 16384 THEN
        RAISE EXCEPTION 'progress must be at most 16384 bytes' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT lease.* INTO v_lease FROM tidemark.job_lease AS lease
    WHERE lease.worker_id = p_worker_id AND p_job_id = ANY (lease.job_ids)
        AND lease.attempts[array_position(lease.job_ids, p_job_id)] = p_attempt AND coalesce(lease.lease_id = p_lease_id, true)
    FOR UPDATE;
    -- Another attempt may have come while this waited for the lock: the locked row decides, then the clock.
    IF NOT FOUND OR v_lease.attempts[array_position(v_lease.job_ids, p_job_id)] IS DISTINCT FROM p_attempt OR v_lease.lease_until <= clock_timestamp() THEN
        RETURN false;
    END IF;
    INSERT INTO tidemark.job_note AS note (job_id, progress) VALUES (p_job_id, p_progress)
    ON CONFLICT (job_id) DO UPDATE SET progress = excluded.progress, updated_at = clock_timestamp();
    RETURN true;
END
$$;

-- Takes up to p_limit leases whose time is over from workers that are gone: jobs wait again at once, or are dead with their attempts
-- used up. Knows no types and no limits. Where the worker told what it had begun, what had not begun gets its attempt back, and of
-- several that had begun nobody is charged but all run alone next; elsewhere every job is charged.
CREATE FUNCTION tidemark.jobs_reap_v1(p_limit integer DEFAULT 100) RETURNS TABLE (job_id uuid, job_type integer, status smallint, last_error text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_lease tidemark.job_lease;
    v_ended tidemark.job_ending[] := '{}';
    v_more tidemark.job_ending[];
    v_begun uuid[];
    v_suspects uuid[] := '{}';
    v_keyed boolean := false;
    v_grouped boolean := false;
    c_error constant text := 'the worker was gone before the job ended (lease_expired)';
BEGIN
    IF p_limit IS NULL OR p_limit NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'a reap needs a limit from 1 to 1000' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR v_lease IN
        WITH expired AS MATERIALIZED (
            SELECT lease.* FROM tidemark.job_lease AS lease
            WHERE lease.lease_until <= clock_timestamp()
            ORDER BY lease.lease_id
            LIMIT p_limit
            FOR UPDATE SKIP LOCKED
        )
        SELECT expired.* FROM expired
    LOOP
        DELETE FROM tidemark.job_lease AS lease WHERE lease.lease_id = v_lease.lease_id;
        v_begun := coalesce(v_lease.started, v_lease.job_ids);
        v_suspects := v_suspects || CASE WHEN cardinality(v_begun) > 1 THEN v_begun ELSE '{}' END;
        v_keyed := v_keyed OR v_lease.keyed;
        v_grouped := v_grouped OR v_lease.grouped;
        SELECT array_agg((fates.job_id, fates.attempts, v_lease.claimed_at, CASE WHEN fates.cancelled OR fates.used_up THEN 'dead' ELSE 'pending' END,
            CASE WHEN fates.charged THEN 'fail' ELSE 'release' END,
            NULL::jsonb, CASE WHEN fates.cancelled THEN 'cancelled' WHEN fates.charged THEN 'lease_expired' END,
            CASE WHEN fates.charged THEN c_error END, 0)::tidemark.job_ending)
        INTO v_more
        FROM (
            SELECT member.job_id, member.attempts, blame.charged, coalesce(note.cancel_requested, false) AS cancelled,
                blame.charged AND member.attempts >= body.max_attempts AS used_up
            FROM unnest(v_lease.job_ids, v_lease.attempts) AS member (job_id, attempts)
            JOIN tidemark.job_body AS body ON body.job_id = member.job_id
            LEFT JOIN tidemark.job_note AS note ON note.job_id = member.job_id
            CROSS JOIN LATERAL (
                SELECT v_lease.started IS NULL OR (cardinality(v_lease.started) = 1 AND member.job_id = v_lease.started[1]) AS charged
            ) AS blame
        ) AS fates;
        v_ended := v_ended || v_more;
    END LOOP;
    -- All leases at once, so that alerts, keys and groups are locked in their order once, as everywhere else.
    IF cardinality(v_ended) > 0 THEN
        PERFORM tidemark.jobs_settle(NULL, v_ended, v_keyed, v_grouped, v_suspects);
    END IF;
    RETURN QUERY
    SELECT body.job_id, body.job_type, CASE WHEN ended.fate = 'dead' THEN 4::smallint ELSE 1::smallint END, coalesce(ended.error, '')
    FROM unnest(v_ended) AS ended JOIN tidemark.job_body AS body ON body.job_id = ended.job_id
    ORDER BY body.job_id;
END
$$;

-- Dead jobs wait again with attempts of their own. Answers per job: pending, twin (an active job has its key; active_job_id is it), or
-- not_dead (pending, running, done, or unknown).
CREATE FUNCTION tidemark.jobs_requeue_v1(p_job_ids uuid[]) RETURNS TABLE (job_id uuid, outcome text, active_job_id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_body tidemark.job_body;
    v_id uuid;
    v_types integer[] := '{}';
BEGIN
    -- Keys in their order, jobs in theirs: two requeues of the same jobs do not wait crosswise.
    <<jobs>>
    FOR v_id IN
        SELECT given.job_id FROM (SELECT DISTINCT listed.job_id FROM unnest(p_job_ids) AS listed (job_id)) AS given
        LEFT JOIN tidemark.job_body AS body ON body.job_id = given.job_id
        ORDER BY body.dedupe_key NULLS LAST, given.job_id
    LOOP
        jobs_requeue_v1.job_id := v_id;
        jobs_requeue_v1.active_job_id := NULL;
        PERFORM FROM tidemark.job_finished AS finished WHERE finished.job_id = v_id AND finished.status = 4 FOR UPDATE;
        IF NOT FOUND THEN
            jobs_requeue_v1.outcome := 'not_dead';
            RETURN NEXT;
            CONTINUE;
        END IF;
        SELECT body.* INTO v_body FROM tidemark.job_body AS body WHERE body.job_id = v_id;
        IF v_body.dedupe_key IS NOT NULL THEN
            LOOP
                INSERT INTO tidemark.job_key (dedupe_key, job_id) VALUES (v_body.dedupe_key, v_id) ON CONFLICT DO NOTHING;
                IF FOUND THEN
                    EXIT;
                END IF;
                SELECT job_key.job_id INTO jobs_requeue_v1.active_job_id FROM tidemark.job_key AS job_key WHERE job_key.dedupe_key = v_body.dedupe_key;
                IF FOUND THEN
                    jobs_requeue_v1.outcome := 'twin';
                    RETURN NEXT;
                    CONTINUE jobs;
                END IF;
                -- The twin ended between the two looks: try again.
            END LOOP;
        END IF;
        DELETE FROM tidemark.job_finished AS finished WHERE finished.job_id = v_id;
        PERFORM tidemark.jobs_wait_again(ARRAY[v_id], ARRAY[0], ARRAY[0::double precision], ARRAY[false]);
        v_types := v_types || v_body.job_type;
        jobs_requeue_v1.outcome := 'pending';
        RETURN NEXT;
    END LOOP;
    PERFORM tidemark.resolve_dead(listed.job_type) FROM (SELECT DISTINCT unnest(v_types) AS job_type ORDER BY 1) AS listed;
END
$$;

-- Takes a waiting job out of wherever it waits. Says whether it was waiting. Its row is locked: a claim that was first has it.
CREATE FUNCTION tidemark.job_withdraw(p_body tidemark.job_body, OUT withdrawn boolean, OUT attempts integer, OUT suspect boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM tidemark.job_ready AS ready
    WHERE ready.job_type = p_body.job_type AND ready.priority = p_body.priority
        AND ready.rank IN (p_body.position, p_body.position - 4611686018427387904) AND ready.job_id = p_body.job_id
    RETURNING ready.attempts, ready.suspect INTO job_withdraw.attempts, job_withdraw.suspect;
    IF NOT FOUND THEN
        DELETE FROM tidemark.job_scheduled AS scheduled WHERE scheduled.job_id = p_body.job_id
        RETURNING scheduled.attempts, scheduled.suspect INTO job_withdraw.attempts, job_withdraw.suspect;
    END IF;
    IF NOT FOUND AND p_body.group_key IS NOT NULL THEN
        DELETE FROM tidemark.job_grouped AS grouped
        WHERE grouped.job_type = p_body.job_type AND grouped.group_key = p_body.group_key AND grouped.priority = p_body.priority
            AND grouped.position = p_body.position
        RETURNING grouped.attempts, grouped.suspect INTO job_withdraw.attempts, job_withdraw.suspect;
    END IF;
    job_withdraw.withdrawn := FOUND;
END
$$;

-- Cancels a job: dead at once where it waits, asked to stop where it runs; it is not retried. Answers dead, requested, finished or unknown.
CREATE FUNCTION tidemark.job_cancel_v1(p_job_id uuid) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_body tidemark.job_body;
    v_found record;
BEGIN
    -- Between two places a job is in a transaction of somebody else, for which the statements wait; once more is enough then. The body is
    -- read each time: that transaction may have given it another priority.
    FOR v_try IN 1..10 LOOP
        SELECT body.* INTO v_body FROM tidemark.job_body AS body WHERE body.job_id = p_job_id;
        IF NOT FOUND THEN
            RETURN 'unknown';
        END IF;
        SELECT * INTO v_found FROM tidemark.job_withdraw(v_body);
        IF v_found.withdrawn THEN
            PERFORM tidemark.jobs_finish(NULL, ARRAY[p_job_id], ARRAY[4], ARRAY[v_found.attempts], ARRAY[NULL::timestamptz], ARRAY[NULL::jsonb],
                ARRAY['cancelled'], ARRAY['cancelled']);
            PERFORM tidemark.jobs_let_go('{}', ARRAY[p_job_id], v_body.dedupe_key IS NOT NULL, false);
            RETURN 'dead';
        END IF;
        PERFORM FROM tidemark.job_lease AS lease WHERE p_job_id = ANY (lease.job_ids) FOR UPDATE;
        IF EXISTS (SELECT FROM tidemark.job_lease AS lease WHERE p_job_id = ANY (lease.job_ids)) THEN
            INSERT INTO tidemark.job_note AS note (job_id, cancel_requested) VALUES (p_job_id, true)
            ON CONFLICT (job_id) DO UPDATE SET cancel_requested = true, updated_at = clock_timestamp();
            RETURN 'requested';
        END IF;
        IF EXISTS (SELECT FROM tidemark.job_finished AS finished WHERE finished.job_id = p_job_id) THEN
            RETURN 'finished';
        END IF;
    END LOOP;
    RAISE EXCEPTION 'the job moves from place to place' USING ERRCODE = 'serialization_failure', HINT = 'Nothing was changed; try again.';
END
$$;

-- Recovery: with no dead job of the type left, its alert is resolved.
CREATE FUNCTION tidemark.resolve_dead(p_job_type integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (SELECT FROM public.alert_outbox AS alert WHERE alert.kind = 'job_dead' AND alert.subject = 'job_type ' || p_job_type AND alert.resolved_at IS NULL)
        AND NOT EXISTS (
            SELECT FROM tidemark.job_finished AS finished JOIN tidemark.job_body AS body ON body.job_id = finished.job_id
            WHERE finished.status = 4 AND body.job_type = p_job_type AND finished.error_code IS DISTINCT FROM 'cancelled')
    THEN
        UPDATE public.alert_outbox AS alert SET resolved_at = clock_timestamp()
        WHERE alert.kind = 'job_dead' AND alert.subject = 'job_type ' || p_job_type AND alert.resolved_at IS NULL;
    END IF;
END
$$;
