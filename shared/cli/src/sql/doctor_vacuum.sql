-- The oldest transaction of a client, what else holds back vacuum, and the tables of ours that are mostly dead rows.
WITH oldest AS (
    SELECT session.pid, extract(epoch FROM clock_timestamp() - session.xact_start)::bigint AS seconds
    FROM pg_catalog.pg_stat_activity AS session
    WHERE session.backend_type = 'client backend' AND session.datname = current_database()
        AND session.pid <> pg_catalog.pg_backend_pid() AND session.xact_start IS NOT NULL
    ORDER BY session.xact_start
    LIMIT 1
)
SELECT (SELECT oldest.pid FROM oldest) AS oldest_pid,
    (SELECT oldest.seconds FROM oldest) AS oldest_seconds,
    (SELECT count(*) FROM pg_catalog.pg_prepared_xacts AS prepared WHERE prepared.prepared < clock_timestamp() - interval '10 minutes') AS prepared,
    (SELECT count(*) FROM pg_catalog.pg_replication_slots AS slot WHERE NOT slot.active AND (slot.xmin IS NOT NULL OR slot.catalog_xmin IS NOT NULL))
        AS idle_slots,
    pg_catalog.current_setting('autovacuum')::boolean AS autovacuum,
    ARRAY(
        SELECT pg_catalog.format('%I.%I', counted.schemaname, counted.relname)
        FROM pg_catalog.pg_stat_user_tables AS counted
        WHERE counted.schemaname IN ('public', 'tidemark') AND counted.n_dead_tup > 10000 AND counted.n_dead_tup > counted.n_live_tup
        ORDER BY counted.n_dead_tup DESC
        LIMIT 5
    ) AS bloated
