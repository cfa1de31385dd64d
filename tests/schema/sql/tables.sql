-- One text per table: what it is made of, in an order that does not depend on when things were made.
SELECT pg_catalog.concat_ws(E'\n',
    pg_catalog.format('table %s%s%s', relation.oid::regclass,
        CASE WHEN relation.relrowsecurity THEN ' row level security' ELSE '' END,
        ' with (' || pg_catalog.array_to_string(relation.reloptions, ', ') || ')'),
    (
        SELECT pg_catalog.string_agg(pg_catalog.format('  %s %s%s%s%s', attribute.attname,
            pg_catalog.format_type(attribute.atttypid, attribute.atttypmod),
            CASE WHEN attribute.attnotnull THEN ' not null' ELSE '' END,
            CASE attribute.attidentity WHEN 'a' THEN ' identity always' WHEN 'd' THEN ' identity by default' ELSE '' END,
            ' default ' || pg_catalog.pg_get_expr(standard.adbin, standard.adrelid)), E'\n' ORDER BY attribute.attnum)
        FROM pg_catalog.pg_attribute AS attribute
        LEFT JOIN pg_catalog.pg_attrdef AS standard
            ON standard.adrelid = attribute.attrelid AND standard.adnum = attribute.attnum
        WHERE attribute.attrelid = relation.oid AND attribute.attnum > 0 AND NOT attribute.attisdropped
    ),
    (
        SELECT pg_catalog.string_agg(
            pg_catalog.format('  constraint %s %s', held.conname, pg_catalog.pg_get_constraintdef(held.oid)), E'\n'
            ORDER BY held.contype, held.conname)
        FROM pg_catalog.pg_constraint AS held
        WHERE held.conrelid = relation.oid AND held.contype IN ('c', 'f', 'p', 'u', 'x')
    ),
    (
        -- The indexes of constraints are told with them.
        SELECT pg_catalog.string_agg(pg_catalog.format('  %s', pg_catalog.pg_get_indexdef(entry.indexrelid)), E'\n'
            ORDER BY entry.indexrelid::regclass::text)
        FROM pg_catalog.pg_index AS entry
        WHERE entry.indrelid = relation.oid
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint AS held WHERE held.conindid = entry.indexrelid
                AND held.contype IN ('p', 'u', 'x'))
    ),
    (
        SELECT pg_catalog.string_agg(pg_catalog.format('  %s', pg_catalog.pg_get_triggerdef(fired.oid)), E'\n' ORDER BY fired.tgname)
        FROM pg_catalog.pg_trigger AS fired
        WHERE fired.tgrelid = relation.oid AND NOT fired.tgisinternal
    ),
    (
        SELECT pg_catalog.string_agg(pg_catalog.format('  policy %s for %s to %s using (%s) with check (%s)', policy.policyname,
            pg_catalog.lower(policy.cmd), pg_catalog.array_to_string(policy.roles, ', '), policy.qual, policy.with_check), E'\n'
            ORDER BY policy.policyname)
        FROM pg_catalog.pg_policies AS policy
        WHERE pg_catalog.format('%I.%I', policy.schemaname, policy.tablename)::regclass = relation.oid
    ))
FROM pg_catalog.pg_class AS relation
WHERE relation.relkind IN ('r', 'p', 'v', 'm')
    AND relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
ORDER BY relation.oid::regclass::text
