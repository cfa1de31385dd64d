-- One text per function: its signature, how it runs, and the beginning of the SHA-256 of its body.
SELECT pg_catalog.format('function %s.%s(%s) returns %s' || E'\n  %s %s%s%s, body %s',
    routine.pronamespace::regnamespace, routine.proname, pg_catalog.pg_get_function_arguments(routine.oid),
    pg_catalog.pg_get_function_result(routine.oid),
    (SELECT spoken.lanname FROM pg_catalog.pg_language AS spoken WHERE spoken.oid = routine.prolang),
    CASE routine.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
    CASE WHEN routine.prosecdef THEN ' security definer' ELSE '' END,
    ' set ' || pg_catalog.array_to_string(routine.proconfig, ' set '),
    pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(routine.prosrc, 'UTF8')), 'hex'), 16))
FROM pg_catalog.pg_proc AS routine
WHERE routine.pronamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
ORDER BY routine.pronamespace::regnamespace::text, routine.proname, pg_catalog.pg_get_function_identity_arguments(routine.oid)
