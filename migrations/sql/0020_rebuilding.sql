-- Rebuilding everybody's figures by a newer definition, and verifying what is published.
--
-- The version of the formulas is a constant of the build. A compute tells its own with every take; the newest that was ever told
-- stands in tidemark.definition, and whoever tells an older one is given no runs any more. A claim that finds a newer version than
-- the last one it began a rebuild for begins a rebuild: a walk over the state rows in the order of their ids, a bounded step with
-- each pass of claim, all of it under the claim's gate and in the claim's transaction. Whatever is killed on the way, the next claim
-- goes on where the last commit stood. docs/adr/0008-rebuild.md tells why.

CREATE TABLE tidemark.definition (
    id smallint PRIMARY KEY DEFAULT 1 CONSTRAINT definition_one_row CHECK (id = 1),
    -- The newest version that a compute has told of.
    version integer NOT NULL DEFAULT 0,
    announced_at timestamptz,
    -- The newest version for which a rebuild was begun. The first that was ever told needs none: nothing older is published.
    rebuilt_version integer
) WITH (fillfactor = 50);
INSERT INTO tidemark.definition DEFAULT VALUES;

CREATE TABLE tidemark.rebuilds (
    rebuild_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- 'definition': those published by an older version; 'operator': everybody.
    cause text NOT NULL CONSTRAINT rebuilds_cause CHECK (cause IN ('definition', 'operator')),
    definition_version integer NOT NULL,
    phase text NOT NULL DEFAULT 'counting'
        CONSTRAINT rebuilds_phase CHECK (phase IN ('counting', 'marking', 'finishing', 'done', 'cancelled', 'superseded')),
    started_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    started_by text NOT NULL DEFAULT session_user,
    ended_at timestamptz,
    ended_by text,
    -- The last user that the walk has passed.
    passed_user_id uuid,
    -- State rows: all of them, and those that the marking walk has passed.
    rows_total bigint NOT NULL DEFAULT 0,
    rows_passed bigint NOT NULL DEFAULT 0,
    -- Users: those meant when they were counted, and what became of those who were marked.
    users_counted bigint NOT NULL DEFAULT 0,
    users_done bigint NOT NULL DEFAULT 0,
    users_failed bigint NOT NULL DEFAULT 0,
    users_gone bigint NOT NULL DEFAULT 0,
    CONSTRAINT rebuilds_ended CHECK ((ended_at IS NOT NULL) = (phase IN ('done', 'cancelled', 'superseded')))
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX rebuilds_one_live ON tidemark.rebuilds ((ended_at IS NULL)) WHERE ended_at IS NULL;

-- Users of the live rebuild whose figures are on their way: never more than the window that tidemark.rebuild_window() names.
CREATE TABLE tidemark.rebuild_users (
    user_id uuid PRIMARY KEY,
    -- The generation that the mark drew; NULL while the user's state row was held by somebody, so that it is still to be marked.
    generation bigint
);

-- Which version of the formulas computes a run, noted when it is taken.
ALTER TABLE public.user_stats_projection_runs ADD COLUMN definition_version integer;

-- A publish never puts figures of an older version over those of a newer one. An operator may lower the version of a state row by
-- hand, so that its user is rebuilt.
CREATE FUNCTION tidemark.defend_definition() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'figures of definition % are published, which those of definition % may not replace',
        OLD.definition_version, NEW.definition_version
        USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Deploy the newest release of the compute function.';
END
$$;
CREATE TRIGGER defend_definition BEFORE UPDATE OF definition_version ON public.user_stats_projection_state
    FOR EACH ROW WHEN (NEW.definition_version < OLD.definition_version AND NEW.applied_generation IS DISTINCT FROM OLD.applied_generation)
    EXECUTE FUNCTION tidemark.defend_definition();

-- Whether the version that a compute tells is the newest; a newer one is noted. NULL, which no function tells, is never too old.
CREATE FUNCTION tidemark.definition_is_current(p_definition_version integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_version integer;
BEGIN
    SELECT definition.version INTO v_version FROM tidemark.definition AS definition;
    IF p_definition_version > v_version THEN
        UPDATE tidemark.definition AS definition
        SET version = p_definition_version, announced_at = clock_timestamp(),
            rebuilt_version = coalesce(definition.rebuilt_version, p_definition_version)
        WHERE definition.version < p_definition_version;
        SELECT definition.version INTO v_version FROM tidemark.definition AS definition;
    END IF;
    RETURN coalesce(p_definition_version >= v_version, true);
END
$$;

-- Users whose figures are on their way at once. A cancelled rebuild leaves no more than these; a live save goes before all of them.
CREATE FUNCTION tidemark.rebuild_window() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT 20 * settings.max_active FROM public.stats_projection_worker_settings AS settings
$$;

-- Whether a claim has a step of a rebuild to do.
CREATE FUNCTION tidemark.rebuild_is_due() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT EXISTS (SELECT FROM tidemark.rebuilds AS rebuild WHERE rebuild.ended_at IS NULL)
        OR EXISTS (SELECT FROM tidemark.definition AS definition WHERE definition.rebuilt_version < definition.version)
$$;

-- The next state rows of a walk, in the order of the users' ids: of up to p_rows of them those that are meant, at most p_users.
-- Meant by a newer definition is who was published by an older one, and whoever an older build is just computing.
CREATE FUNCTION tidemark.rebuild_look(
    p_rebuild tidemark.rebuilds, p_rows integer, p_users integer,
    OUT user_ids uuid[], OUT rows_looked bigint, OUT passed_user_id uuid
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_from uuid := coalesce(p_rebuild.passed_user_id, '00000000-0000-0000-0000-000000000000');
BEGIN
    WITH looked AS MATERIALIZED (
        SELECT state.user_id,
            p_rebuild.cause = 'operator' AND state.requested_generation > 0
                OR state.definition_version < p_rebuild.definition_version AND (
                    state.applied_at IS NOT NULL
                    OR EXISTS (
                        SELECT FROM public.user_stats_projection_runs AS run
                        WHERE run.id = state.live_run_id
                            AND (run.definition_version < p_rebuild.definition_version
                                -- Claimed before the rebuild began: whoever is just taking it may not know of the newer version.
                                OR (run.phase = 'claimed' AND run.claimed_at < p_rebuild.started_at)))
                ) AS is_meant
        FROM public.user_stats_projection_state AS state
        WHERE state.user_id >= v_from AND state.user_id IS DISTINCT FROM p_rebuild.passed_user_id
        ORDER BY state.user_id
        LIMIT p_rows
    ), meant AS MATERIALIZED (
        SELECT looked.user_id FROM looked WHERE looked.is_meant ORDER BY looked.user_id LIMIT p_users
    ), passed AS MATERIALIZED (
        -- Where the users are as many as were asked for, the walk has come to the last of them only.
        SELECT looked.user_id FROM looked
        WHERE (SELECT count(*) FROM meant) < p_users
            OR looked.user_id <= (SELECT meant.user_id FROM meant ORDER BY meant.user_id DESC LIMIT 1)
    )
    SELECT (SELECT coalesce(array_agg(meant.user_id ORDER BY meant.user_id), '{}') FROM meant),
        (SELECT count(*) FROM passed),
        (SELECT passed.user_id FROM passed ORDER BY passed.user_id DESC LIMIT 1)
    INTO user_ids, rows_looked, passed_user_id;
END
$$;

-- What became of the users who were marked: rebuilt, out of attempts, or no longer there. Each is counted once.
CREATE FUNCTION tidemark.rebuild_reckon(INOUT p_rebuild tidemark.rebuilds)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    v_done bigint;
    v_failed bigint;
    v_gone bigint;
BEGIN
    WITH fate AS MATERIALIZED (
        SELECT listed.user_id,
            CASE
                WHEN state.user_id IS NULL THEN 'gone'
                WHEN listed.generation IS NULL THEN 'waiting'
                WHEN state.applied_generation >= listed.generation THEN 'done'
                -- Neither waiting nor running: its attempts are used up, and only an operator or a save begins anew.
                WHEN state.pending_generation IS NULL AND state.live_run_id IS NULL THEN 'failed'
                ELSE 'waiting'
            END AS name
        FROM tidemark.rebuild_users AS listed
        LEFT JOIN public.user_stats_projection_state AS state ON state.user_id = listed.user_id
    ), ended AS (
        DELETE FROM tidemark.rebuild_users AS listed USING fate
        WHERE listed.user_id = fate.user_id AND fate.name <> 'waiting'
        RETURNING fate.name
    )
    SELECT count(*) FILTER (WHERE ended.name = 'done'), count(*) FILTER (WHERE ended.name = 'failed'),
        count(*) FILTER (WHERE ended.name = 'gone')
    INTO v_done, v_failed, v_gone
    FROM ended;
    p_rebuild.users_done := p_rebuild.users_done + v_done;
    p_rebuild.users_failed := p_rebuild.users_failed + v_failed;
    p_rebuild.users_gone := p_rebuild.users_gone + v_gone;
END
$$;

-- Marks the listed users who are not marked yet, after every save. Whoever's state row somebody holds is left for the next pass: a
-- claim waits for no save.
CREATE FUNCTION tidemark.rebuild_mark() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_user_ids uuid[];
BEGIN
    WITH free AS MATERIALIZED (
        SELECT state.user_id
        FROM tidemark.rebuild_users AS listed
        JOIN public.user_stats_projection_state AS state ON state.user_id = listed.user_id
        WHERE listed.generation IS NULL
        ORDER BY state.user_id
        LIMIT 500
        FOR NO KEY UPDATE OF state SKIP LOCKED
    )
    SELECT array_agg(free.user_id) INTO v_user_ids FROM free;
    IF v_user_ids IS NULL THEN
        RETURN;
    END IF;
    PERFORM tidemark.mark_users(
        v_user_ids, array_fill('00000000-0000-0000-0000-000000000000'::uuid, ARRAY[cardinality(v_user_ids)]), 1::smallint);
    UPDATE tidemark.rebuild_users AS listed
    SET generation = state.requested_generation
    FROM public.user_stats_projection_state AS state
    WHERE listed.user_id = ANY (v_user_ids) AND state.user_id = listed.user_id;
END
$$;

-- Begins the rebuild that a newer definition asks for. One that is under way by an older definition is superseded: whoever it has
-- not reached is reached by the new one.
CREATE FUNCTION tidemark.rebuild_begin() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_version integer;
BEGIN
    UPDATE tidemark.definition AS definition
    SET rebuilt_version = definition.version
    WHERE definition.rebuilt_version < definition.version
    RETURNING definition.version INTO v_version;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    UPDATE tidemark.rebuilds AS rebuild
    SET phase = 'superseded', ended_at = clock_timestamp(), ended_by = session_user
    WHERE rebuild.ended_at IS NULL;
    DELETE FROM tidemark.rebuild_users;
    INSERT INTO tidemark.rebuilds (cause, definition_version) VALUES ('definition', v_version);
END
$$;

-- One step of the live rebuild, within a pass of claim, whose gate the caller holds.
CREATE FUNCTION tidemark.rebuild_step() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    -- Reading so many rows takes some milliseconds.
    c_rows_counted CONSTANT integer := 20000;
    c_rows_walked CONSTANT integer := 5000;
    v_before tidemark.rebuilds;
    v_rebuild tidemark.rebuilds;
    v_looked record;
    v_room integer;
BEGIN
    PERFORM tidemark.rebuild_begin();
    -- Held by whoever is just cancelling it: then there is nothing more to do.
    SELECT rebuild.* INTO v_rebuild FROM tidemark.rebuilds AS rebuild WHERE rebuild.ended_at IS NULL FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_before := v_rebuild;
    v_rebuild := tidemark.rebuild_reckon(v_rebuild);
    IF v_rebuild.phase = 'counting' THEN
        v_looked := tidemark.rebuild_look(v_rebuild, c_rows_counted, c_rows_counted + 1);
        v_rebuild.rows_total := v_rebuild.rows_total + v_looked.rows_looked;
        v_rebuild.users_counted := v_rebuild.users_counted + cardinality(v_looked.user_ids);
        v_rebuild.passed_user_id := v_looked.passed_user_id;
        IF v_looked.rows_looked < c_rows_counted THEN
            v_rebuild.phase := 'marking';
            v_rebuild.passed_user_id := NULL;
        END IF;
    END IF;
    IF v_rebuild.phase = 'marking' THEN
        v_room := tidemark.rebuild_window() - (SELECT count(*) FROM tidemark.rebuild_users);
        IF v_room > 0 THEN
            v_looked := tidemark.rebuild_look(v_rebuild, c_rows_walked, v_room);
            INSERT INTO tidemark.rebuild_users (user_id) SELECT unnest(v_looked.user_ids);
            v_rebuild.rows_passed := v_rebuild.rows_passed + v_looked.rows_looked;
            v_rebuild.passed_user_id := coalesce(v_looked.passed_user_id, v_rebuild.passed_user_id);
            IF v_looked.rows_looked < c_rows_walked AND cardinality(v_looked.user_ids) < v_room THEN
                v_rebuild.phase := 'finishing';
            END IF;
        END IF;
    END IF;
    PERFORM tidemark.rebuild_mark();
    IF v_rebuild.phase = 'finishing' AND NOT EXISTS (SELECT FROM tidemark.rebuild_users) THEN
        v_rebuild.phase := 'done';
        v_rebuild.ended_at := clock_timestamp();
        v_rebuild.ended_by := session_user;
    END IF;
    IF v_rebuild.phase = 'done' AND v_rebuild.cause = 'definition'
        AND v_rebuild.users_done + v_rebuild.users_failed + v_rebuild.users_gone = 0 THEN
        -- Nobody had older figures: nothing to tell.
        DELETE FROM tidemark.rebuilds AS rebuild WHERE rebuild.rebuild_id = v_rebuild.rebuild_id;
    ELSIF v_rebuild IS DISTINCT FROM v_before THEN
        UPDATE tidemark.rebuilds AS rebuild
        SET phase = v_rebuild.phase, ended_at = v_rebuild.ended_at, ended_by = v_rebuild.ended_by,
            passed_user_id = v_rebuild.passed_user_id, rows_total = v_rebuild.rows_total, rows_passed = v_rebuild.rows_passed,
            users_counted = v_rebuild.users_counted, users_done = v_rebuild.users_done,
            users_failed = v_rebuild.users_failed, users_gone = v_rebuild.users_gone
        WHERE rebuild.rebuild_id = v_rebuild.rebuild_id;
    END IF;
END
$$;

-- Starts a rebuild of everybody. One that is under way already goes on instead, so that two operators at once start one.
CREATE FUNCTION tidemark.rebuild_start_v1(OUT rebuild_id bigint, OUT started boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    LOOP
        INSERT INTO tidemark.rebuilds AS rebuild (cause, definition_version)
        SELECT 'operator', definition.version FROM tidemark.definition AS definition
        ON CONFLICT ((ended_at IS NULL)) WHERE ended_at IS NULL DO NOTHING
        RETURNING rebuild.rebuild_id INTO rebuild_start_v1.rebuild_id;
        started := FOUND;
        EXIT WHEN started;
        SELECT live.rebuild_id INTO rebuild_start_v1.rebuild_id FROM tidemark.rebuilds AS live WHERE live.ended_at IS NULL;
        EXIT WHEN FOUND;
        -- It has ended between the two statements.
    END LOOP;
END
$$;

-- Cancels the live rebuild. Users who are marked already are still refreshed; nobody else is marked. NULL: none was under way.
CREATE FUNCTION tidemark.rebuild_cancel_v1() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_rebuild_id bigint;
BEGIN
    UPDATE tidemark.rebuilds AS rebuild
    SET phase = 'cancelled', ended_at = clock_timestamp(), ended_by = session_user
    WHERE rebuild.ended_at IS NULL
    RETURNING rebuild.rebuild_id INTO v_rebuild_id;
    IF FOUND THEN
        DELETE FROM tidemark.rebuild_users;
    END IF;
    RETURN v_rebuild_id;
END
$$;

-- The last rebuild for the status document. Those who are still ahead of the walk are reckoned from the share of state rows that it
-- has not passed, because some of those who were counted are refreshed by saves meanwhile. 100 percent only when it is done.
CREATE FUNCTION tidemark.status_rebuild() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    SELECT jsonb_build_object(
        'rebuild_id', last.rebuild_id,
        'cause', last.cause,
        'definition_version', last.definition_version,
        'phase', last.phase,
        'started_at', last.started_at,
        'started_by', last.started_by,
        'ended_at', last.ended_at,
        'ended_by', last.ended_by,
        'percent', CASE
            WHEN last.phase = 'done' THEN 100
            WHEN last.phase = 'counting' OR last.ended + last.remaining = 0 THEN 0
            ELSE least(floor(100.0 * last.ended / (last.ended + last.remaining)), 99)
        END::integer,
        'eta_seconds', CASE
            WHEN last.ended_at IS NULL AND last.phase <> 'counting' AND last.ended > 0
            THEN ceil(extract(epoch FROM clock_timestamp() - last.started_at) * last.remaining / last.ended)::bigint
        END,
        'users_total', last.ended + last.remaining,
        'users_done', last.users_done,
        'users_failed', last.users_failed,
        'users_gone', last.users_gone,
        'users_under_way', last.under_way
    )
    FROM (
        SELECT rebuild.*, listed.under_way,
            rebuild.users_done + rebuild.users_failed + rebuild.users_gone AS ended,
            listed.under_way + CASE
                WHEN rebuild.phase = 'finishing' OR rebuild.phase = 'done' THEN 0
                ELSE ceil(rebuild.users_counted * (1 - least(rebuild.rows_passed::numeric / greatest(rebuild.rows_total, 1), 1)))
            END::bigint AS remaining
        FROM tidemark.rebuilds AS rebuild
        CROSS JOIN LATERAL (
            SELECT CASE WHEN rebuild.ended_at IS NULL THEN (SELECT count(*) FROM tidemark.rebuild_users) ELSE 0 END AS under_way
        ) AS listed
        ORDER BY rebuild.rebuild_id DESC
        LIMIT 1
    ) AS last
$$;

-- The status document: the parts of 0011, the general queue's, and the last rebuild.
CREATE FUNCTION public.stats_projection_worker_status_v1() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    SELECT jsonb_build_object(
        'as_of', clock_timestamp(),
        'settings', (SELECT to_jsonb(settings) FROM public.stats_projection_worker_settings AS settings),
        'queue', tidemark.status_queue(),
        'stale_users', (SELECT coalesce(sum(tally.stale_users), 0) FROM tidemark.queue_tally AS tally),
        'leases', tidemark.status_leases(),
        'last_hour', tidemark.status_last_hour(),
        'ticks', tidemark.status_ticks(),
        'definition_version', (SELECT definition.version FROM tidemark.definition AS definition),
        'rebuild', tidemark.status_rebuild(),
        'jobs', tidemark.jobs_ops_v1()
            || jsonb_build_object('open_alerts', (SELECT count(*) FROM public.alert_outbox AS alert WHERE alert.resolved_at IS NULL))
    )
$$;
