-- Which functions the worker may not call, and which tables somebody may read who should not. $1: the functions it calls.
WITH own AS MATERIALIZED (
    SELECT relation.oid, pg_catalog.format('%I.%I', namespace.nspname, relation.relname) AS name, namespace.nspname, relation.relname
    FROM pg_catalog.pg_class AS relation
    JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
    WHERE relation.relkind IN ('r', 'p', 'v')
        AND relation.relowner = (SELECT owner.oid FROM pg_catalog.pg_roles AS owner WHERE owner.rolname = 'tidemark_owner')
        AND namespace.nspname IN ('public', 'tidemark')
), hidden AS MATERIALIZED (
    SELECT own.oid, own.name FROM own
    WHERE own.nspname = 'tidemark' OR own.relname IN (
        'stats_projection_worker_settings', 'stats_projection_worker_settings_history', 'user_stats_projection_state',
        'user_exercise_stats_dirty', 'user_exercise_stats_refresh_jobs', 'user_stats_projection_runs', 'alert_outbox', 'schedules',
        'jobs', 'job_limits', 'job_quotas')
)
SELECT ARRAY(
        SELECT called.name FROM pg_catalog.unnest($1::text[]) AS called (name)
        WHERE NOT coalesce(pg_catalog.has_function_privilege('tidemark_worker', pg_catalog.to_regprocedure(called.name), 'EXECUTE'), false)
        ORDER BY called.name
    ) AS worker_cannot_call,
    ARRAY(SELECT own.name FROM own WHERE pg_catalog.has_table_privilege('tidemark_worker', own.oid, 'SELECT') ORDER BY own.name) AS worker_sees,
    ARRAY(
        SELECT hidden.name FROM hidden
        WHERE pg_catalog.has_table_privilege('anon', hidden.oid, 'SELECT') OR pg_catalog.has_table_privilege('authenticated', hidden.oid, 'SELECT')
        ORDER BY hidden.name
    ) AS application_sees
