-- Enqueueing: in the caller's own transaction, without waiting for anything that a worker holds while it works.

-- What is wrong with a job to be enqueued, or NULL. Limits are documented in docs/JOBS.md.
CREATE FUNCTION tidemark.job_problem(
    p_job_type integer, p_payload jsonb, p_dedupe_key text, p_priority integer, p_delay_seconds double precision,
    p_max_attempts integer, p_group_key text
) RETURNS text
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN p_job_type IS NULL OR p_job_type < 1 THEN 'job_type must be a number from 1 to 2147483647'
        WHEN p_payload IS NULL THEN 'payload must be JSON; give ''{}'' for none'
        -- Only the text tells: a number of a few bytes can have a hundred thousand digits.
        WHEN octet_length(p_payload::text) > 1048576 THEN 'payload must be at most 1048576 bytes as text'
        WHEN p_priority IS NULL OR p_priority NOT BETWEEN -1000000 AND 1000000 THEN 'priority must be from -1000000 to 1000000'
        WHEN octet_length(p_dedupe_key) NOT BETWEEN 1 AND 500 THEN 'dedupe_key must have 1 to 500 bytes'
        WHEN octet_length(p_group_key) NOT BETWEEN 1 AND 200 THEN 'group_key must have 1 to 200 bytes'
        WHEN p_delay_seconds IS NULL OR NOT p_delay_seconds BETWEEN 0 AND 31536000 THEN 'delay_seconds must be from 0 to 31536000 (a year)'
        WHEN p_max_attempts IS NULL OR p_max_attempts NOT BETWEEN 1 AND 100 THEN 'max_attempts must be from 1 to 100'
    END
$$;

CREATE FUNCTION public.enqueue_job(
    job_type integer,
    payload jsonb DEFAULT '{}',
    dedupe_key text DEFAULT NULL,
    priority integer DEFAULT 100,
    delay_seconds double precision DEFAULT 0,
    max_attempts integer DEFAULT 3,
    group_key text DEFAULT NULL,
    OUT job_id uuid,
    OUT inserted boolean
) RETURNS record
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_problem text;
    v_xid xid8;
    v_now timestamptz := clock_timestamp();
    v_position bigint;
    v_twin uuid;
BEGIN
    -- Almost every job is within these bounds; what is not is asked about. A call for each job would cost more than its rows.
    IF ($1 >= 1 AND octet_length($2::text) <= 1048576 AND ($3 IS NULL OR octet_length($3) BETWEEN 1 AND 500) AND $4 BETWEEN -1000000 AND 1000000
        AND $5 BETWEEN 0 AND 31536000 AND $6 BETWEEN 1 AND 100 AND ($7 IS NULL OR octet_length($7) BETWEEN 1 AND 200)) IS DISTINCT FROM true
    THEN
        v_problem := tidemark.job_problem($1, $2, $3, $4, $5, $6, $7);
        IF v_problem IS NOT NULL THEN
            RAISE EXCEPTION '%', v_problem USING ERRCODE = 'invalid_parameter_value', HINT = 'Nothing was enqueued.';
        END IF;
    END IF;
    -- As the column's default makes it.
    enqueue_job.job_id := encode(set_bit(set_bit(
        overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send((date_part('epoch', v_now) * 1000)::bigint) FROM 3) FROM 1 FOR 6),
        52, 1), 53, 1), 'hex')::uuid;
    enqueue_job.inserted := true;
    WHILE $3 IS NOT NULL LOOP
        INSERT INTO tidemark.job_key (dedupe_key, job_id) VALUES ($3, enqueue_job.job_id) ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        SELECT job_key.job_id INTO v_twin FROM tidemark.job_key AS job_key WHERE job_key.dedupe_key = $3;
        IF FOUND THEN
            enqueue_job.job_id := v_twin;
            enqueue_job.inserted := false;
            RETURN;
        END IF;
        -- Ended between the two looks: try again.
    END LOOP;
    -- Position after transaction id: see tidemark.job_position.
    v_xid := pg_current_xact_id();
    v_position := nextval('tidemark.job_position');
    IF $5 = 0 AND $7 IS NULL THEN
        WITH body AS (
            INSERT INTO tidemark.job_body (job_id, position, job_type, priority, max_attempts, created_at, dedupe_key, group_key, payload)
            VALUES (enqueue_job.job_id, v_position, $1, $4, $6, v_now, $3, $7, $2)
        )
        INSERT INTO tidemark.job_ready (job_type, priority, rank, job_id, waiting_since, attempts)
        VALUES ($1, $4, v_position, enqueue_job.job_id, v_now, 0);
    ELSE
        WITH body AS (
            INSERT INTO tidemark.job_body (job_id, position, job_type, priority, max_attempts, created_at, dedupe_key, group_key, payload)
            VALUES (enqueue_job.job_id, v_position, $1, $4, $6, v_now, $3, $7, $2)
        )
        INSERT INTO tidemark.job_scheduled (job_id, due_at, job_type, priority, position, waiting_since, attempts, group_key)
        VALUES (enqueue_job.job_id, v_now + make_interval(secs => $5), $1, $4, v_position, v_now, 0, $7);
    END IF;
END
$$;
COMMENT ON FUNCTION public.enqueue_job(integer, jsonb, text, integer, double precision, integer, text) IS
    'Enqueues a job in the caller''s transaction. With an active job of the same dedupe_key nothing is inserted, and job_id is that job''s.';

-- Many at once; every row is answered on its own, by its place in what was given. Keys are taken in their order, so that two callers
-- with the same keys in different order do not wait for each other crosswise. Without nested loops, because a thousand rows whose
-- number the planner cannot know are joined to a thousand others.
CREATE FUNCTION tidemark.jobs_enqueue_v1(
    p_job_types integer[], p_payloads jsonb[], p_dedupe_keys text[], p_priorities integer[],
    p_delays double precision[], p_max_attempts integer[], p_group_keys text[]
) RETURNS TABLE (ordinal integer, job_id uuid, inserted boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_nestloop = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_number integer := cardinality(p_job_types);
    v_xid xid8;
    v_places integer[];
    v_ids uuid[];
    v_row record;
BEGIN
    IF v_number > 10000 THEN
        RAISE EXCEPTION 'at most 10000 jobs can be enqueued at once' USING ERRCODE = 'invalid_parameter_value', HINT = 'Nothing was enqueued.';
    END IF;
    IF (SELECT bool_or(given.number <> v_number) FROM unnest(ARRAY[cardinality(p_payloads), cardinality(p_dedupe_keys), cardinality(p_priorities),
        cardinality(p_delays), cardinality(p_max_attempts), cardinality(p_group_keys)]) AS given (number)) THEN
        RAISE EXCEPTION 'the lists of jobs must be of one length' USING ERRCODE = 'invalid_parameter_value', HINT = 'Nothing was enqueued.';
    END IF;
    -- The bounds of enqueue_job: what is beyond them is asked about.
    FOR v_row IN
        SELECT listed.place, tidemark.job_problem(listed.job_type, listed.payload, listed.dedupe_key, listed.priority, listed.delay_seconds, listed.max_attempts, listed.group_key) AS problem
        FROM unnest(p_job_types, p_payloads, p_dedupe_keys, p_priorities, p_delays, p_max_attempts, p_group_keys)
            WITH ORDINALITY AS listed (job_type, payload, dedupe_key, priority, delay_seconds, max_attempts, group_key, place)
        WHERE (listed.job_type >= 1 AND octet_length(listed.payload::text) <= 1048576
            AND (listed.dedupe_key IS NULL OR octet_length(listed.dedupe_key) BETWEEN 1 AND 500) AND listed.priority BETWEEN -1000000 AND 1000000
            AND listed.delay_seconds BETWEEN 0 AND 31536000 AND listed.max_attempts BETWEEN 1 AND 100
            AND (listed.group_key IS NULL OR octet_length(listed.group_key) BETWEEN 1 AND 200)) IS DISTINCT FROM true
        ORDER BY listed.place
    LOOP
        IF v_row.problem IS NOT NULL THEN
            RAISE EXCEPTION 'jobs[%]: %', v_row.place - 1, v_row.problem USING ERRCODE = 'invalid_parameter_value', HINT = 'Nothing was enqueued.';
        END IF;
    END LOOP;
    -- Positions after the transaction id: see tidemark.job_position.
    v_xid := pg_current_xact_id();
    WITH given AS MATERIALIZED (
        -- The id as the column's default makes it.
        SELECT listed.place::integer AS place, listed.job_type, listed.payload, listed.dedupe_key, listed.priority, listed.delay_seconds,
            listed.max_attempts, listed.group_key, nextval('tidemark.job_position') AS position, clock_timestamp() AS created_at,
            encode(set_bit(set_bit(
                overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send((date_part('epoch', clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6),
                52, 1), 53, 1), 'hex')::uuid AS job_id
        FROM unnest(p_job_types, p_payloads, p_dedupe_keys, p_priorities, p_delays, p_max_attempts, p_group_keys)
            WITH ORDINALITY AS listed (job_type, payload, dedupe_key, priority, delay_seconds, max_attempts, group_key, place)
    ), key AS (
        INSERT INTO tidemark.job_key AS made (dedupe_key, job_id)
        SELECT DISTINCT ON (given.dedupe_key) given.dedupe_key, given.job_id
        FROM given
        WHERE given.dedupe_key IS NOT NULL
        ORDER BY given.dedupe_key, given.place
        ON CONFLICT DO NOTHING
        RETURNING made.job_id
    ), made AS MATERIALIZED (
        SELECT given.* FROM given LEFT JOIN key ON key.job_id = given.job_id
        WHERE given.dedupe_key IS NULL OR key.job_id IS NOT NULL
        ORDER BY given.position
    ), body AS (
        INSERT INTO tidemark.job_body (job_id, position, job_type, priority, max_attempts, created_at, dedupe_key, group_key, payload)
        SELECT made.job_id, made.position, made.job_type, made.priority, made.max_attempts, made.created_at, made.dedupe_key, made.group_key, made.payload
        FROM made
    ), ready AS (
        INSERT INTO tidemark.job_ready (job_type, priority, rank, job_id, waiting_since, attempts)
        SELECT made.job_type, made.priority, made.position, made.job_id, made.created_at, 0
        FROM made WHERE made.delay_seconds = 0 AND made.group_key IS NULL
    ), scheduled AS (
        INSERT INTO tidemark.job_scheduled (job_id, due_at, job_type, priority, position, waiting_since, attempts, group_key)
        SELECT made.job_id, made.created_at + make_interval(secs => made.delay_seconds), made.job_type, made.priority, made.position,
            made.created_at, 0, made.group_key
        FROM made WHERE made.delay_seconds > 0 OR made.group_key IS NOT NULL
    )
    SELECT array_agg(made.place), array_agg(made.job_id) INTO v_places, v_ids FROM made;
    RETURN QUERY SELECT made.place, made.job_id, true FROM unnest(v_places, v_ids) AS made (place, job_id);
    -- What has a twin, among the active jobs or before it in this call, is answered with that one.
    IF coalesce(cardinality(v_places), 0) < v_number THEN
        FOR v_row IN
            SELECT listed.*
            FROM unnest(p_job_types, p_payloads, p_dedupe_keys, p_priorities, p_delays, p_max_attempts, p_group_keys)
                WITH ORDINALITY AS listed (job_type, payload, dedupe_key, priority, delay_seconds, max_attempts, group_key, place)
            LEFT JOIN unnest(v_places) AS made (place) ON made.place = listed.place
            WHERE made.place IS NULL
            ORDER BY listed.dedupe_key, listed.place
        LOOP
            RETURN QUERY
            SELECT v_row.place::integer, enqueued.job_id, enqueued.inserted
            FROM public.enqueue_job(v_row.job_type, v_row.payload, v_row.dedupe_key, v_row.priority, v_row.delay_seconds, v_row.max_attempts, v_row.group_key) AS enqueued;
        END LOOP;
    END IF;
END
$$;
