-- Roles and the private schema. Runs as whoever migrates; everything after this file runs as tidemark_owner.
--
-- On Supabase anon, authenticated and service_role exist already; elsewhere they are made here so that the grants mean
-- the same everywhere. Roles belong to the whole server: two databases may be migrated at once, so that losing the race
-- for a name is not an error.
DO $roles$
DECLARE
    v_role record;
BEGIN
    FOR v_role IN
        SELECT wanted.name, wanted.options
        FROM (VALUES
            ('anon', 'NOLOGIN NOINHERIT'),
            ('authenticated', 'NOLOGIN NOINHERIT'),
            ('service_role', 'NOLOGIN NOINHERIT'),
            ('tidemark_owner', 'NOLOGIN NOINHERIT'),
            -- Login without a password: it can be used only once somebody grants a way in (a password, rds_iam, a socket).
            -- The limit leaves the application its connections whatever the functions do; the concurrency in template.yaml keeps below it.
            ('tidemark_worker', 'LOGIN NOINHERIT CONNECTION LIMIT 40')
        ) AS wanted (name, options)
        WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted.name)
    LOOP
        BEGIN
            EXECUTE pg_catalog.format('CREATE ROLE %I %s', v_role.name, v_role.options);
            IF v_role.name = 'tidemark_worker' THEN
                -- A killed client's locks live 0.4 s instead of 5.4 s, and a frozen one cannot hold a transaction open.
                -- Each step sets tighter limits of its own; these are for whatever comes before it does.
                ALTER ROLE tidemark_worker SET client_connection_check_interval = '500ms';
                ALTER ROLE tidemark_worker SET idle_in_transaction_session_timeout = '15s';
                ALTER ROLE tidemark_worker SET statement_timeout = '15s';
                ALTER ROLE tidemark_worker SET jit = 'off';
                ALTER ROLE tidemark_worker SET default_transaction_isolation = 'read committed';
            ELSIF v_role.name IN ('authenticated', 'service_role') THEN
                -- The save limit: publish_timeout_ms must stay below it.
                EXECUTE pg_catalog.format('ALTER ROLE %I SET statement_timeout = %L', v_role.name, '8s');
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END LOOP;

    IF NOT pg_catalog.pg_has_role(current_user, 'tidemark_owner', 'MEMBER') THEN
        GRANT tidemark_owner TO CURRENT_USER;
    END IF;
END
$roles$;

-- A schema may stand already: the runner keeps its own list of migrations in it.
CREATE SCHEMA IF NOT EXISTS tidemark;
GRANT USAGE, CREATE ON SCHEMA tidemark TO tidemark_owner;
GRANT USAGE, CREATE ON SCHEMA public TO tidemark_owner;
GRANT USAGE ON SCHEMA tidemark TO tidemark_worker, service_role;
GRANT USAGE ON SCHEMA public TO tidemark_worker, service_role, authenticated;

-- The form with IN SCHEMA would do nothing: a default of PUBLIC can only be taken away for the role as a whole.
ALTER DEFAULT PRIVILEGES FOR ROLE tidemark_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
