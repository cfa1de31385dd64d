-- One text per composite, enumeration and domain type, and per sequence that no column owns.
SELECT told.line
FROM (
    SELECT pg_catalog.format(E'type %s\n%s', made.oid::regtype, (
            SELECT pg_catalog.string_agg(pg_catalog.format('  %s %s', attribute.attname,
                pg_catalog.format_type(attribute.atttypid, attribute.atttypmod)), E'\n' ORDER BY attribute.attnum)
            FROM pg_catalog.pg_attribute AS attribute
            WHERE attribute.attrelid = made.typrelid
        )) AS line
    FROM pg_catalog.pg_type AS made
    LEFT JOIN pg_catalog.pg_class AS relation ON relation.oid = made.typrelid
    WHERE made.typnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
        AND (made.typtype IN ('e', 'd') OR relation.relkind = 'c')
    UNION ALL
    SELECT pg_catalog.format('sequence %s %s from %s to %s by %s cache %s', relation.oid::regclass,
        pg_catalog.format_type(counted.seqtypid, NULL), counted.seqmin, counted.seqmax, counted.seqincrement, counted.seqcache)
    FROM pg_catalog.pg_sequence AS counted
    JOIN pg_catalog.pg_class AS relation ON relation.oid = counted.seqrelid
    WHERE relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
        AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_depend AS owned
            WHERE owned.objid = relation.oid AND owned.classid = 'pg_catalog.pg_class'::regclass AND owned.deptype IN ('a', 'i'))
) AS told
ORDER BY told.line
