-- What each role may do, one text per object. The rights of PUBLIC are everybody's and shown with everybody.
WITH role (place, name) AS (
    VALUES (1, 'public'), (2, 'anon'), (3, 'authenticated'), (4, 'service_role'), (5, 'tidemark_worker')
), object (place, kind, name, identity, rights) AS (
    SELECT 1, 'schema', namespace.nspname::text, namespace.oid, ARRAY['usage', 'create']
    FROM pg_catalog.pg_namespace AS namespace
    WHERE namespace.nspname IN ('public', 'tidemark')
    UNION ALL
    SELECT 2, 'table', relation.oid::regclass::text, relation.oid,
        ARRAY['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']
    FROM pg_catalog.pg_class AS relation
    WHERE relation.relkind IN ('r', 'p', 'v', 'm') AND relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
    UNION ALL
    SELECT 3, 'sequence', relation.oid::regclass::text, relation.oid, ARRAY['usage', 'select', 'update']
    FROM pg_catalog.pg_class AS relation
    WHERE relation.relkind = 'S' AND relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
    UNION ALL
    SELECT 4, 'function', routine.oid::regprocedure::text, routine.oid, ARRAY['execute']
    FROM pg_catalog.pg_proc AS routine
    WHERE routine.pronamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
    UNION ALL
    -- Columns that are granted by themselves: of their table the role has less.
    SELECT 5, 'column', pg_catalog.format('%s.%s', relation.oid::regclass, attribute.attname), relation.oid,
        ARRAY['select', 'insert', 'update', 'references']
    FROM pg_catalog.pg_class AS relation
    JOIN pg_catalog.pg_attribute AS attribute ON attribute.attrelid = relation.oid
    WHERE relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace) AND attribute.attacl IS NOT NULL
), granted AS (
    SELECT object.place, object.kind, object.name, role.place AS role_place, role.name AS role_name, held.rights
    FROM object
    CROSS JOIN role
    CROSS JOIN LATERAL (
        SELECT pg_catalog.string_agg(wanted.name, ' ' ORDER BY wanted.place) AS rights
        FROM pg_catalog.unnest(object.rights) WITH ORDINALITY AS wanted (name, place)
        WHERE CASE object.kind
            WHEN 'schema' THEN pg_catalog.has_schema_privilege(role.name, object.identity, wanted.name)
            WHEN 'table' THEN pg_catalog.has_table_privilege(role.name, object.identity, wanted.name)
            WHEN 'sequence' THEN pg_catalog.has_sequence_privilege(role.name, object.identity, wanted.name)
            WHEN 'function' THEN pg_catalog.has_function_privilege(role.name, object.identity, wanted.name)
            WHEN 'column' THEN pg_catalog.has_column_privilege(
                role.name, object.identity, pg_catalog.substring(object.name, '[^.]+$'), wanted.name)
        END
    ) AS held
)
SELECT pg_catalog.format('%s %s: %s', granted.kind, granted.name, coalesce(
    pg_catalog.string_agg(
        pg_catalog.format('%s (%s)', granted.role_name, granted.rights), ', ' ORDER BY granted.role_place)
        FILTER (WHERE granted.rights IS NOT NULL),
    'nobody'))
FROM granted
GROUP BY granted.place, granted.kind, granted.name
ORDER BY granted.place, granted.name
