-- Which roles are missing, and who may log in.
SELECT ARRAY(
        SELECT wanted.name
        FROM pg_catalog.unnest(ARRAY['tidemark_owner', 'tidemark_worker', 'service_role', 'authenticated', 'anon']) AS wanted (name)
        WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS role WHERE role.rolname = wanted.name)
        ORDER BY wanted.name
    ) AS missing,
    EXISTS (SELECT FROM pg_catalog.pg_roles AS role WHERE role.rolname = 'tidemark_owner' AND role.rolcanlogin) AS owner_logs_in,
    EXISTS (
        SELECT FROM pg_catalog.pg_roles AS role
        WHERE role.rolcanlogin AND NOT role.rolsuper
            AND pg_catalog.pg_has_role(role.oid, (SELECT worker.oid FROM pg_catalog.pg_roles AS worker WHERE worker.rolname = 'tidemark_worker'), 'USAGE')
    ) AS worker_logs_in
