-- Claiming jobs: priority (which improves with age), then age; groups take turns beside them. One statement for the caller.

-- What a claim returns, one row per job.
CREATE TYPE tidemark.claimed_job AS (
    lease_id bigint,
    lease_until timestamptz,
    job_id uuid,
    job_type integer,
    priority integer,
    attempts integer,
    max_attempts integer,
    dedupe_key text,
    group_key text,
    payload jsonb,
    created_at timestamptz,
    suspect boolean,
    position bigint
);

-- Sorts jobs whose time has come: those of a group into the group, the others among the ready. One session at a time; the others
-- go on without. Up to 5,000 rows (measured: 12 µs each), so that a claim stays within its budget; the next claim goes on.
CREATE FUNCTION tidemark.jobs_sort_due() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    PERFORM FROM tidemark.job_sorting_gate FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    WITH due AS MATERIALIZED (
        SELECT scheduled.job_id
        FROM tidemark.job_scheduled AS scheduled
        WHERE scheduled.due_at <= clock_timestamp()
        ORDER BY scheduled.due_at
        LIMIT 5000
        FOR UPDATE SKIP LOCKED
    ), sorted AS (
        DELETE FROM tidemark.job_scheduled AS scheduled USING due WHERE scheduled.job_id = due.job_id RETURNING scheduled.*
    ), ready AS (
        INSERT INTO tidemark.job_ready (job_type, priority, rank, job_id, waiting_since, attempts, suspect)
        SELECT sorted.job_type, sorted.priority, sorted.position - 4611686018427387904, sorted.job_id, greatest(sorted.waiting_since, sorted.due_at),
            sorted.attempts, sorted.suspect
        FROM sorted WHERE sorted.group_key IS NULL
    ), grouped AS (
        INSERT INTO tidemark.job_grouped (job_type, group_key, priority, position, job_id, waiting_since, attempts, suspect)
        SELECT sorted.job_type, sorted.group_key, sorted.priority, sorted.position, sorted.job_id, greatest(sorted.waiting_since, sorted.due_at),
            sorted.attempts, sorted.suspect
        FROM sorted WHERE sorted.group_key IS NOT NULL
    )
    -- Rows of groups are locked in the order of their keys, as everywhere.
    INSERT INTO tidemark.job_group AS job_group (job_type, group_key, concurrency, waiting, head_priority, turn)
    SELECT arrived.job_type, arrived.group_key,
        coalesce((SELECT limits.group_concurrency FROM public.job_limits AS limits WHERE limits.job_type = arrived.job_type), 2147483647),
        true, arrived.head_priority, nextval('tidemark.job_turn')
    FROM (
        SELECT sorted.job_type, sorted.group_key, min(sorted.priority) AS head_priority
        FROM sorted WHERE sorted.group_key IS NOT NULL
        GROUP BY sorted.job_type, sorted.group_key
        ORDER BY sorted.job_type, sorted.group_key
    ) AS arrived
    ON CONFLICT (job_type, group_key) DO UPDATE
    SET head_priority = CASE WHEN job_group.waiting THEN least(job_group.head_priority, excluded.head_priority) ELSE excluded.head_priority END,
        waiting = true;
END
$$;

-- Ready jobs of lanes that are not known yet: the first of each gap between known lanes, which hold nothing else. The bounds are plain
-- comparisons of one column each, because a scan that is bounded by a comparison of rows does not stop before its first column changes
-- (measured: it read the rest of the type, 20 ms at 100,000 jobs).
CREATE VIEW tidemark.job_lane_unknown AS
    SELECT found.job_type, found.priority
    FROM (
        SELECT lane.job_type, lane.priority, lag(lane.job_type) OVER lanes IS DISTINCT FROM lane.job_type AS first_of_type,
            lead(lane.job_type) OVER lanes IS DISTINCT FROM lane.job_type AS last_of_type,
            coalesce(lead(lane.job_type) OVER lanes, 2147483648) AS next_type,
            coalesce(lead(lane.priority) OVER (PARTITION BY lane.job_type ORDER BY lane.priority), 2147483648) AS next_priority
        FROM tidemark.job_lane AS lane
        WINDOW lanes AS (ORDER BY lane.job_type, lane.priority)
    ) AS known
    CROSS JOIN LATERAL (
        (SELECT ready.job_type, ready.priority FROM tidemark.job_ready AS ready
        WHERE known.first_of_type AND ready.job_type = known.job_type AND ready.priority < known.priority
        ORDER BY ready.priority LIMIT 1)
        UNION ALL
        (SELECT ready.job_type, ready.priority FROM tidemark.job_ready AS ready
        WHERE ready.job_type = known.job_type AND ready.priority > known.priority AND ready.priority < known.next_priority
        ORDER BY ready.priority LIMIT 1)
        UNION ALL
        (SELECT ready.job_type, ready.priority FROM tidemark.job_ready AS ready
        WHERE known.last_of_type AND ready.job_type > known.job_type AND ready.job_type < known.next_type
        ORDER BY ready.job_type, ready.priority LIMIT 1)
    ) AS found
    UNION ALL
    (SELECT ready.job_type, ready.priority FROM tidemark.job_ready AS ready
    WHERE ready.job_type < coalesce((SELECT min(lane.job_type) FROM tidemark.job_lane AS lane), 2147483648)
    ORDER BY ready.job_type, ready.priority LIMIT 1);

-- Makes the lanes known that are not.
CREATE FUNCTION tidemark.job_lanes_discover() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_start record;
    v_type integer;
    v_priority integer;
    v_next integer;
    -- A thousand in one claim (0.2 s), so that it stays within its budget; the next claim goes on.
    v_left integer := 1000;
BEGIN
    -- One claim at a time; the others go on without the new lanes instead of waiting for it.
    PERFORM FROM tidemark.job_sorting_gate FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- From the first unknown lane of each gap on to the next known one, lane by lane: a lane costs one look into the index.
    FOR v_start IN SELECT found.job_type, found.priority FROM tidemark.job_lane_unknown AS found LOOP
        v_type := v_start.job_type;
        v_priority := v_start.priority;
        WHILE v_left > 0 LOOP
            INSERT INTO tidemark.job_lane (job_type, priority) VALUES (v_type, v_priority) ON CONFLICT DO NOTHING;
            EXIT WHEN NOT FOUND;
            v_left := v_left - 1;
            SELECT ready.priority INTO v_next FROM tidemark.job_ready AS ready
            WHERE ready.job_type = v_type AND ready.priority > v_priority
            ORDER BY ready.priority
            LIMIT 1;
            IF NOT FOUND THEN
                SELECT ready.job_type, ready.priority INTO v_type, v_next FROM tidemark.job_ready AS ready
                WHERE ready.job_type > v_type
                ORDER BY ready.job_type, ready.priority
                LIMIT 1;
                EXIT WHEN NOT FOUND;
            END IF;
            v_priority := v_next;
        END LOOP;
        EXIT WHEN v_left = 0;
    END LOOP;
END
$$;

-- Looks at a lane from its proven floor, now and then and never twice at once. Finds what a late commit left below the hint; moves
-- the floor up once no older transaction can leave anything there.
--
-- Why nothing is hidden for ever: a position is drawn by a transaction that has its id already (tidemark.job_position), so that whoever
-- drew one below a position that was drawn before this transaction had its own id has an older id. Once every id up to this
-- one is over (pg_snapshot_xmin), all of them are visible or gone, and what a look then finds first below is all there is. The end of a
-- snapshot (pg_snapshot_xmax) would not do as the bound: it follows the newest transaction that has ended, and one that runs may be
-- younger. Until then claims begin at the hint, and a look each second begins at the floor, so that a late commit waits a second, or
-- twenty times as long as the look took, at most 30 seconds. What comes back (retries, delays, moves) has ranks below zero and is
-- read from its very beginning; each priority has a lane of its own.
-- p_drawn: where claims began in this lane before this transaction had its id; NULL where it had one already and proves nothing.
CREATE FUNCTION tidemark.job_lane_look(p_job_type integer, p_priority integer, p_drawn bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_lane tidemark.job_lane;
    v_first bigint;
    v_xmin xid8;
    v_began timestamptz := clock_timestamp();
BEGIN
    -- The lock first, then the snapshot that proves.
    SELECT * INTO v_lane FROM tidemark.job_lane AS lane
    WHERE lane.job_type = p_job_type AND lane.priority = p_priority AND lane.look_after <= v_began
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT (SELECT ready.rank FROM tidemark.job_ready AS ready
            WHERE ready.job_type = p_job_type AND ready.priority = p_priority AND ready.rank >= v_lane.floor AND ready.rank < v_lane.hint
            ORDER BY ready.rank LIMIT 1),
        pg_snapshot_xmin(pg_current_snapshot())
    INTO v_first, v_xmin;
    -- Something live below what is being proven lowers it.
    v_lane.proving := least(v_lane.proving, v_first);
    IF v_xmin >= v_lane.proving_xmax THEN
        v_lane.floor := v_lane.proving;
        IF p_drawn IS NOT NULL THEN
            v_lane.proving := greatest(least(v_lane.hint, v_first, p_drawn), v_lane.floor);
            v_lane.proving_xmax := pg_current_xact_id();
        END IF;
    END IF;
    UPDATE tidemark.job_lane AS lane
    SET floor = v_lane.floor, proving = v_lane.proving, proving_xmax = v_lane.proving_xmax, hint = coalesce(v_first, lane.hint),
        look_after = clock_timestamp() + least(greatest(20 * (clock_timestamp() - v_began), interval '1 second'), interval '30 seconds')
    WHERE lane.job_type = p_job_type AND lane.priority = p_priority;
END
$$;

-- What a claim has taken so far.
CREATE TYPE tidemark.taken_job AS (job_id uuid, attempts smallint, suspect boolean);

-- A half of a lane: what came back (ranks below zero) or what is fresh.
CREATE TYPE tidemark.job_source AS (
    job_type integer,
    priority integer,
    low bigint,
    high bigint,
    head bigint,
    age bigint,
    effective double precision,
    suspect bigint,
    -- Where claims begin to read it, if that is worth a new note.
    hint bigint
);

-- Sources in the order of claims: by the priority that the longest wait among those of one priority gives, then by the age of their
-- first job, so that jobs of one priority come by age whether they came back or are fresh.
CREATE FUNCTION tidemark.job_sources_in_order(p_sources tidemark.job_source[]) RETURNS tidemark.job_source[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF cardinality(p_sources) < 2 THEN
        RETURN p_sources;
    END IF;
    RETURN ARRAY(
        SELECT ranked.source
        FROM (
            SELECT source, source.age, source.priority, min(source.effective) OVER (PARTITION BY source.priority) AS effective
            FROM unnest(p_sources) AS source
        ) AS ranked
        ORDER BY ranked.effective, ranked.priority, ranked.age);
END
$$;

-- Where ready jobs can be taken from: the two halves of each lane (what came back, and what is fresh) that hold something.
CREATE FUNCTION tidemark.job_sources(p_job_types integer[], p_aging_seconds integer) RETURNS tidemark.job_source[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    RETURN tidemark.job_sources_in_order(ARRAY(
        SELECT (lane.job_type, lane.priority, half.low, half.high, first.rank,
            CASE WHEN first.rank < 0 THEN first.rank + 4611686018427387904 ELSE first.rank END,
            lane.priority - date_part('epoch', clock_timestamp() - first.waiting_since) / p_aging_seconds,
            CASE WHEN half.high = -1 THEN (
                SELECT min(ready.rank) FROM tidemark.job_ready AS ready
                WHERE ready.job_type = lane.job_type AND ready.priority = lane.priority AND ready.suspect
            ) END,
            CASE WHEN half.low >= 0 AND lane.hint < first.rank - 128
                AND (lane.hinted_at <= clock_timestamp() - interval '100 milliseconds' OR lane.hint < first.rank - 1000) THEN lane.hint END
            )::tidemark.job_source
        FROM tidemark.job_lane AS lane
        CROSS JOIN LATERAL (VALUES (-4611686018427387904::bigint, -1::bigint), (lane.hint, 4611686018427387904::bigint)) AS half (low, high)
        CROSS JOIN LATERAL (
            SELECT ready.rank, ready.waiting_since
            FROM tidemark.job_ready AS ready
            WHERE ready.job_type = lane.job_type AND ready.priority = lane.priority AND ready.rank BETWEEN half.low AND half.high
            ORDER BY ready.rank
            LIMIT 1
        ) AS first
        WHERE p_job_types IS NULL OR lane.job_type = ANY (p_job_types)));
END
$$;

-- Notes where the live jobs of a lane begin, seldom and without waiting: each note leaves a dead row behind. At least 128 jobs further,
-- and a tenth of a second or 1,000 jobs after the last note, so that a claim never passes more dead entries than that.
CREATE FUNCTION tidemark.job_lane_note(p_job_type integer, p_priority integer, p_first bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    WITH mine AS MATERIALIZED (
        SELECT lane.ctid AS place FROM tidemark.job_lane AS lane
        WHERE lane.job_type = p_job_type AND lane.priority = p_priority AND lane.hint < p_first - 128
            AND (lane.hinted_at <= clock_timestamp() - interval '100 milliseconds' OR lane.hint < p_first - 1000)
        FOR UPDATE SKIP LOCKED
    )
    UPDATE tidemark.job_lane AS lane SET hint = p_first, hinted_at = clock_timestamp()
    WHERE lane.ctid = ANY (ARRAY(SELECT mine.place FROM mine));
END
$$;

-- Puts a source back among the others with its new head, if it has one.
CREATE FUNCTION tidemark.job_source_return(p_sources tidemark.job_source[], p_source tidemark.job_source, p_aging_seconds integer)
RETURNS tidemark.job_source[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_since timestamptz;
BEGIN
    SELECT ready.rank, ready.waiting_since INTO p_source.head, v_since
    FROM tidemark.job_ready AS ready
    WHERE ready.job_type = p_source.job_type AND ready.priority = p_source.priority AND ready.rank BETWEEN p_source.low AND p_source.high
    ORDER BY ready.rank
    LIMIT 1;
    IF NOT FOUND THEN
        RETURN p_sources;
    END IF;
    p_source.age := CASE WHEN p_source.head < 0 THEN p_source.head + 4611686018427387904 ELSE p_source.head END;
    p_source.effective := p_source.priority - extract(epoch FROM clock_timestamp() - v_since)::double precision / p_aging_seconds;
    p_source.hint := NULL;
    -- Of suspects the next one from here on counts: one behind would be waited for by turning round and round.
    IF p_source.suspect IS NOT NULL THEN
        SELECT min(ready.rank) INTO p_source.suspect FROM tidemark.job_ready AS ready
        WHERE ready.job_type = p_source.job_type AND ready.priority = p_source.priority AND ready.suspect AND ready.rank >= p_source.low;
    END IF;
    RETURN tidemark.job_sources_in_order(p_sources || p_source);
END
$$;

-- Takes up to p_number ready jobs, best effective priority first, then age. p_allowed bounds types under a quota: an object from
-- type to number; a type that it does not name is free. p_beside: the claim has taken others already.
CREATE FUNCTION tidemark.jobs_take_ready(p_number integer, p_job_types integer[], p_allowed jsonb, p_aging_seconds integer, p_beside boolean)
RETURNS tidemark.taken_job[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_taken tidemark.taken_job[] := '{}';
    v_more tidemark.taken_job[];
    v_sources tidemark.job_source[];
    v_best tidemark.job_source;
    v_next tidemark.job_source;
    v_left integer := p_number;
    v_ask integer;
    v_to bigint;
    v_got integer;
    v_last bigint;
BEGIN
    v_sources := tidemark.job_sources(p_job_types, p_aging_seconds);
    WHILE v_left > 0 AND cardinality(v_sources) > 0 LOOP
        v_best := v_sources[1];
        v_next := v_sources[2];
        v_ask := least(v_left, coalesce((p_allowed ->> v_best.job_type::text)::integer, v_left));
        v_to := v_best.high;
        IF v_best.suspect = v_best.head THEN
            -- It runs alone: first in a claim of its own, or not in this one.
            IF p_beside OR v_left < p_number THEN
                v_sources := v_sources[2:];
                CONTINUE;
            END IF;
            v_ask := least(v_ask, 1);
            v_to := v_best.head;
            v_left := 1;
        ELSIF v_best.suspect IS NOT NULL THEN
            v_to := v_best.suspect - 1;
        END IF;
        IF v_next.priority = v_best.priority THEN
            -- Never before its own head: positions and clocks may disagree by a little.
            v_to := least(v_to, greatest(v_next.age - CASE WHEN v_best.high = -1 THEN 4611686018427387904 ELSE 0 END, v_best.head));
        ELSIF v_next.priority IS NOT NULL AND v_best.priority > v_next.effective THEN
            -- Only its age puts it first: a few, then compare again.
            v_ask := least(v_ask, 4);
        END IF;
        -- Whatever the bounds say, the head comes first: each turn of the loop gets on.
        v_to := greatest(v_to, v_best.head);
        v_got := 0;
        v_last := v_best.head;
        IF v_ask > 0 THEN
            WITH picked AS MATERIALIZED (
                SELECT ready.ctid AS place
                FROM tidemark.job_ready AS ready
                WHERE ready.job_type = v_best.job_type AND ready.priority = v_best.priority AND ready.rank BETWEEN v_best.low AND v_to
                ORDER BY ready.rank
                LIMIT v_ask
                FOR UPDATE SKIP LOCKED
            ), gone AS (
                DELETE FROM tidemark.job_ready AS ready
                WHERE ready.ctid = ANY (ARRAY(SELECT picked.place FROM picked))
                RETURNING ready.rank, ready.job_id, ready.attempts, ready.suspect
            )
            SELECT count(*), greatest(v_last, max(gone.rank)), array_agg((gone.job_id, gone.attempts, gone.suspect)::tidemark.taken_job)
            INTO v_got, v_last, v_more
            FROM gone;
            v_taken := v_taken || v_more;
            v_left := v_left - v_got;
            IF p_allowed ? v_best.job_type::text THEN
                p_allowed := jsonb_set(p_allowed, ARRAY[v_best.job_type::text], to_jsonb((p_allowed ->> v_best.job_type::text)::integer - v_got));
            END IF;
        END IF;
        IF v_best.hint IS NOT NULL THEN
            PERFORM tidemark.job_lane_note(v_best.job_type, v_best.priority, v_best.head);
        END IF;
        EXIT WHEN v_left = 0;
        -- What follows in this source: behind what was taken, or behind the bound where others hold what is before it.
        v_best.low := CASE WHEN v_got < v_ask THEN v_to ELSE v_last END + 1;
        v_sources := v_sources[2:];
        IF v_ask > 0 AND v_best.low <= v_best.high THEN
            v_sources := tidemark.job_source_return(v_sources, v_best, p_aging_seconds);
        END IF;
    END LOOP;
    RETURN v_taken;
END
$$;

-- Locks up to p_number groups whose turn it is and that have a place free: by the priority of their first job, then by turn. One claim
-- in eight goes by turn alone, so that the group that waited longest is served whatever its priority.
CREATE FUNCTION tidemark.job_groups_hold(p_number integer, p_job_types integer[], p_allowed jsonb) RETURNS SETOF tidemark.job_group
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
BEGIN
    IF random() < 0.125 THEN
        RETURN QUERY
        SELECT job_group.* FROM tidemark.job_group AS job_group
        WHERE job_group.waiting AND job_group.running < job_group.concurrency
            AND (p_job_types IS NULL OR job_group.job_type = ANY (p_job_types))
            AND coalesce((p_allowed ->> job_group.job_type::text)::integer, 1) > 0
        ORDER BY job_group.turn
        LIMIT p_number
        FOR UPDATE SKIP LOCKED;
    ELSE
        RETURN QUERY
        SELECT job_group.* FROM tidemark.job_group AS job_group
        WHERE job_group.waiting AND job_group.running < job_group.concurrency
            AND (p_job_types IS NULL OR job_group.job_type = ANY (p_job_types))
            AND coalesce((p_allowed ->> job_group.job_type::text)::integer, 1) > 0
        ORDER BY job_group.head_priority, job_group.turn
        LIMIT p_number
        FOR UPDATE SKIP LOCKED;
    END IF;
END
$$;

-- Takes up to p_number jobs of groups whose turn it is: one share each, then to the back of the round.
CREATE FUNCTION tidemark.jobs_take_grouped(p_number integer, p_job_types integer[], p_allowed jsonb, p_beside boolean) RETURNS SETOF tidemark.taken_job
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_group tidemark.job_group;
    v_groups tidemark.job_group[];
    v_left integer := p_number;
    v_got integer;
    v_ask integer;
    v_row tidemark.job_grouped;
    v_suspect record;
    v_alone boolean := false;
BEGIN
    -- Locked rows, never a count beside SKIP LOCKED: two claims cannot both see the last free place.
    v_groups := ARRAY(SELECT held FROM tidemark.job_groups_hold(p_number, p_job_types, p_allowed) AS held);
    FOREACH v_group IN ARRAY v_groups LOOP
        -- The limit as it is now: the group may have been made while its change was not committed yet.
        v_group.concurrency := coalesce(
            (SELECT limits.group_concurrency FROM public.job_limits AS limits WHERE limits.job_type = v_group.job_type), 2147483647);
        UPDATE tidemark.job_group AS job_group SET concurrency = v_group.concurrency
        WHERE job_group.job_type = v_group.job_type AND job_group.group_key = v_group.group_key AND job_group.concurrency <> v_group.concurrency;
        CONTINUE WHEN v_group.running >= v_group.concurrency;
        v_ask := least(v_left, greatest(p_number / cardinality(v_groups), 1), v_group.concurrency - v_group.running,
            coalesce((p_allowed ->> v_group.job_type::text)::integer, v_left));
        v_got := 0;
        -- A suspect runs alone: first in a claim of its own, or not in this one. Its group keeps its turn then.
        SELECT grouped.priority, grouped.position, NOT EXISTS (
                SELECT FROM tidemark.job_grouped AS before
                WHERE before.job_type = v_group.job_type AND before.group_key = v_group.group_key
                    AND (before.priority, before.position) < (grouped.priority, grouped.position)
            ) AS first
        INTO v_suspect
        FROM tidemark.job_grouped AS grouped
        WHERE grouped.job_type = v_group.job_type AND grouped.group_key = v_group.group_key AND grouped.suspect
        ORDER BY grouped.priority, grouped.position
        LIMIT 1;
        IF v_suspect.first THEN
            CONTINUE WHEN p_beside OR v_left < p_number;
            v_alone := true;
            v_ask := least(v_ask, 1);
        END IF;
        IF v_ask > 0 THEN
            FOR v_row IN
                WITH picked AS MATERIALIZED (
                    SELECT grouped.ctid AS place FROM tidemark.job_grouped AS grouped
                    WHERE grouped.job_type = v_group.job_type AND grouped.group_key = v_group.group_key
                        AND (v_suspect.position IS NULL OR v_alone OR (grouped.priority, grouped.position) < (v_suspect.priority, v_suspect.position))
                    ORDER BY grouped.priority, grouped.position
                    LIMIT v_ask
                    FOR UPDATE SKIP LOCKED
                )
                DELETE FROM tidemark.job_grouped AS grouped WHERE grouped.ctid = ANY (ARRAY(SELECT picked.place FROM picked)) RETURNING grouped.*
            LOOP
                v_got := v_got + 1;
                RETURN NEXT (v_row.job_id, v_row.attempts, v_row.suspect)::tidemark.taken_job;
            END LOOP;
            v_left := v_left - v_got;
            IF p_allowed ? v_group.job_type::text THEN
                p_allowed := jsonb_set(p_allowed, ARRAY[v_group.job_type::text], to_jsonb((p_allowed ->> v_group.job_type::text)::integer - v_got));
            END IF;
        END IF;
        PERFORM tidemark.job_group_served(v_group.job_type, v_group.group_key, v_got);
        EXIT WHEN v_left <= 0 OR v_alone;
    END LOOP;
END
$$;

-- Counts what a group was given and sends it to the back of the round. Its row is locked by the caller.
CREATE FUNCTION tidemark.job_group_served(p_job_type integer, p_group_key text, p_number integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_head integer;
BEGIN
    SELECT grouped.priority INTO v_head FROM tidemark.job_grouped AS grouped
    WHERE grouped.job_type = p_job_type AND grouped.group_key = p_group_key
    ORDER BY grouped.priority, grouped.position
    LIMIT 1;
    UPDATE tidemark.job_group AS job_group
    SET running = job_group.running + p_number, waiting = v_head IS NOT NULL, head_priority = coalesce(v_head, job_group.head_priority),
        turn = nextval('tidemark.job_turn')
    WHERE job_group.job_type = p_job_type AND job_group.group_key = p_group_key;
    -- Its jobs were cancelled or moved while they waited.
    DELETE FROM tidemark.job_group AS job_group
    WHERE job_group.job_type = p_job_type AND job_group.group_key = p_group_key AND v_head IS NULL AND job_group.running = 0;
END
$$;

-- How many jobs of each type under a quota may start now: {"type": number}. A quota's row is locked until the claim ends, so that what
-- was started in its stretch of time is counted exactly; a quota that another claim holds is not to be had. Types that share a quota
-- share it evenly; what does not divide goes to the type that was served longest ago, so that none starves.
CREATE FUNCTION tidemark.job_quotas_open(p_job_types integer[]) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_held text[];
    v_allowed jsonb;
BEGIN
    -- The lock first, then the count: another claim's starts are visible once its lock is gone.
    WITH held AS MATERIALIZED (
        SELECT quotas.quota FROM public.job_quotas AS quotas ORDER BY quotas.quota FOR UPDATE SKIP LOCKED
    )
    SELECT array_agg(held.quota) INTO v_held FROM held;
    DELETE FROM tidemark.job_quota_use AS used USING public.job_quotas AS quotas
    WHERE used.quota = quotas.quota AND quotas.quota = ANY (v_held)
        AND used.used_at < clock_timestamp() - make_interval(secs => quotas.per_seconds);
    WITH open AS (
        SELECT quotas.quota, greatest(quotas.jobs - coalesce((
            SELECT sum(used.number) FROM tidemark.job_quota_use AS used WHERE used.quota = quotas.quota), 0), 0)::integer AS number
        FROM public.job_quotas AS quotas WHERE quotas.quota = ANY (v_held)
    ), wanting AS (
        SELECT limits.job_type, limits.quota, row_number() OVER sharing AS place, count(*) OVER (PARTITION BY limits.quota) AS number
        FROM public.job_limits AS limits
        LEFT JOIN tidemark.job_type_served AS served ON served.job_type = limits.job_type
        WHERE limits.quota IS NOT NULL AND (p_job_types IS NULL OR limits.job_type = ANY (p_job_types))
            AND (EXISTS (SELECT FROM tidemark.job_ready AS ready WHERE ready.job_type = limits.job_type)
                -- A type whose groups are all full could not use its share.
                OR EXISTS (SELECT FROM tidemark.job_group AS job_group
                    WHERE job_group.job_type = limits.job_type AND job_group.waiting AND job_group.running < job_group.concurrency))
        WINDOW sharing AS (PARTITION BY limits.quota ORDER BY coalesce(served.served_at, '-infinity'), limits.job_type)
    )
    SELECT jsonb_object_agg(limits.job_type, coalesce(open.number / wanting.number + (wanting.place <= open.number % wanting.number)::integer, 0))
    INTO v_allowed
    FROM public.job_limits AS limits
    LEFT JOIN wanting ON wanting.job_type = limits.job_type
    LEFT JOIN open ON open.quota = wanting.quota
    WHERE limits.quota IS NOT NULL;
    RETURN coalesce(v_allowed, '{}');
END
$$;

-- What is left of an allowance after these jobs.
CREATE FUNCTION tidemark.job_quotas_left(p_allowed jsonb, p_taken tidemark.taken_job[]) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT CASE WHEN p_allowed = '{}' OR cardinality(p_taken) = 0 THEN p_allowed ELSE (
        SELECT jsonb_object_agg(allowed.job_type, allowed.number::integer - (
            SELECT count(*) FROM unnest(p_taken) AS taken JOIN tidemark.job_body AS body ON body.job_id = taken.job_id
            WHERE body.job_type::text = allowed.job_type))
        FROM jsonb_each_text(p_allowed) AS allowed (job_type, number)) END
$$;

-- Notes what a claim has started under quotas.
CREATE FUNCTION tidemark.job_quotas_use(p_job_ids uuid[]) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    WITH used AS (
        SELECT limits.quota, limits.job_type, count(*)::integer AS number
        FROM unnest(p_job_ids) AS taken (job_id)
        JOIN tidemark.job_body AS body ON body.job_id = taken.job_id
        JOIN public.job_limits AS limits ON limits.job_type = body.job_type AND limits.quota IS NOT NULL
        GROUP BY limits.quota, limits.job_type
    ), served AS (
        INSERT INTO tidemark.job_type_served AS served (job_type, served_at)
        SELECT used.job_type, clock_timestamp() FROM used ORDER BY used.job_type
        ON CONFLICT (job_type) DO UPDATE SET served_at = excluded.served_at
    )
    INSERT INTO tidemark.job_quota_use (quota, used_at, number)
    SELECT used.quota, clock_timestamp(), sum(used.number) FROM used GROUP BY used.quota
$$;

-- Claims up to p_limit due jobs of the given types (NULL: of any), charges the attempt and mints one lease for them.
-- With p_start the worker begins the first so many at once and tells which others it begins (jobs_start_v1, jobs_end_v1); then only those can be blamed for
-- the death of their worker.
CREATE FUNCTION tidemark.jobs_claim_v1(
    p_worker_id uuid, p_limit integer, p_job_types integer[] DEFAULT NULL, p_lease_seconds double precision DEFAULT NULL, p_start integer DEFAULT NULL
) RETURNS SETOF tidemark.claimed_job
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_state record;
    v_sorted boolean := false;
    v_idless boolean;
    v_seconds double precision;
    v_allowed jsonb := '{}';
    v_lane record;
    v_taken tidemark.taken_job[] := '{}';
    v_more tidemark.taken_job[];
    v_share integer;
    v_now timestamptz;
BEGIN
    IF p_worker_id IS NULL OR p_limit IS NULL OR p_limit NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'a claim needs a worker id and a limit from 1 to 1000' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    LOOP
        -- All that a claim may have to do beside claiming, seen at once: mostly there is nothing.
        SELECT settings.job_lease_seconds, settings.job_aging_seconds,
            EXISTS (SELECT FROM tidemark.job_scheduled AS scheduled WHERE scheduled.due_at <= statement_timestamp()) AS due,
            EXISTS (SELECT FROM tidemark.job_lane_unknown) AS unknown,
            EXISTS (SELECT FROM tidemark.job_lane AS lane WHERE lane.floor < lane.hint AND lane.look_after <= statement_timestamp()) AS look,
            EXISTS (SELECT FROM public.job_limits AS limits WHERE limits.quota IS NOT NULL) AS quotas,
            EXISTS (SELECT FROM tidemark.job_group AS job_group WHERE job_group.waiting AND job_group.running < job_group.concurrency) AS groups
        INTO v_state
        FROM public.stats_projection_worker_settings AS settings;
        -- Before anything is written: a look proves only what it knew before this transaction had its id.
        IF v_state.look AND NOT v_sorted THEN
            v_idless := pg_current_xact_id_if_assigned() IS NULL;
            FOR v_lane IN
                SELECT lane.job_type, lane.priority, lane.hint FROM tidemark.job_lane AS lane
                WHERE lane.floor < lane.hint AND lane.look_after <= statement_timestamp() AND (p_job_types IS NULL OR lane.job_type = ANY (p_job_types))
            LOOP
                PERFORM tidemark.job_lane_look(v_lane.job_type, v_lane.priority, CASE WHEN v_idless THEN v_lane.hint END);
            END LOOP;
        END IF;
        EXIT WHEN v_sorted OR NOT v_state.due;
        PERFORM tidemark.jobs_sort_due();
        v_sorted := true;
    END LOOP;
    v_seconds := coalesce(p_lease_seconds, v_state.job_lease_seconds);
    IF NOT v_seconds BETWEEN 0.1 AND 3600 THEN
        RAISE EXCEPTION 'lease_seconds must be from 0.1 to 3600' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF v_state.unknown THEN
        PERFORM tidemark.job_lanes_discover();
    END IF;
    IF v_state.quotas THEN
        v_allowed := tidemark.job_quotas_open(p_job_types);
    END IF;
    -- Groups and jobs without a group share a claim; of a single place now the ones, now the others.
    IF v_state.groups THEN
        v_share := p_limit / 2 + CASE WHEN p_limit % 2 = 1 AND random() < 0.5 THEN 1 ELSE 0 END;
        -- A suspect waits for a claim of its own: one in four leaves the groups aside for it.
        IF random() < 0.25 AND EXISTS (
            SELECT FROM tidemark.job_ready AS ready WHERE ready.suspect AND (p_job_types IS NULL OR ready.job_type = ANY (p_job_types)))
        THEN
            v_share := 0;
        END IF;
        IF v_share > 0 THEN
            v_taken := ARRAY(SELECT taken FROM tidemark.jobs_take_grouped(v_share, p_job_types, v_allowed, false) AS taken);
            v_allowed := tidemark.job_quotas_left(v_allowed, v_taken);
        END IF;
    END IF;
    -- A suspect runs alone.
    IF cardinality(v_taken) < p_limit AND v_taken[1].suspect IS DISTINCT FROM true THEN
        v_more := tidemark.jobs_take_ready(p_limit - cardinality(v_taken), p_job_types, v_allowed, v_state.job_aging_seconds, cardinality(v_taken) > 0);
        v_taken := v_taken || v_more;
        -- What the others left is the groups'.
        IF v_share IS NOT NULL AND cardinality(v_taken) < p_limit AND v_more[1].suspect IS DISTINCT FROM true THEN
            v_allowed := tidemark.job_quotas_left(v_allowed, v_more);
            v_taken := v_taken || ARRAY(SELECT taken FROM tidemark.jobs_take_grouped(p_limit - cardinality(v_taken), p_job_types, v_allowed,
                cardinality(v_taken) > 0) AS taken);
        END IF;
    END IF;
    IF cardinality(v_taken) = 0 THEN
        RETURN;
    END IF;
    IF v_allowed <> '{}' THEN
        PERFORM tidemark.job_quotas_use(ARRAY(SELECT taken.job_id FROM unnest(v_taken) AS taken));
    END IF;
    v_now := clock_timestamp();
    RETURN QUERY
    WITH claimed AS MATERIALIZED (
        SELECT body.job_id, body.job_type, body.priority, taken.attempts + 1 AS attempts, body.max_attempts::integer AS max_attempts, body.dedupe_key,
            body.group_key, body.payload, body.created_at, taken.suspect, body.position
        FROM unnest(v_taken) AS taken
        JOIN tidemark.job_body AS body ON body.job_id = taken.job_id
        ORDER BY body.priority, body.position
    ), lease AS (
        INSERT INTO tidemark.job_lease AS minted (worker_id, claimed_at, lease_until, lease_seconds, job_ids, attempts, started, keyed, grouped)
        -- In the order of the answer: a batch that comes back whole and in that order ends with less work.
        SELECT p_worker_id, v_now, v_now + make_interval(secs => v_seconds), v_seconds, array_agg(claimed.job_id), array_agg(claimed.attempts),
            -- A suspect begins when the worker says so: first it lets the others that it runs come to their end.
            CASE WHEN p_start IS NOT NULL THEN coalesce((array_agg(claimed.job_id) FILTER (WHERE NOT claimed.suspect))[:p_start], '{}') END,
            bool_or(claimed.dedupe_key IS NOT NULL), bool_or(claimed.group_key IS NOT NULL)
        FROM claimed
        RETURNING minted.lease_id, minted.lease_until
    )
    SELECT lease.lease_id, lease.lease_until, claimed.job_id, claimed.job_type, claimed.priority, claimed.attempts, claimed.max_attempts,
        claimed.dedupe_key, claimed.group_key, claimed.payload, claimed.created_at, claimed.suspect, claimed.position
    FROM claimed CROSS JOIN lease
    ORDER BY claimed.priority, claimed.position;
END
$$;
