-- The server as this session sees it. Near: through a socket or the loopback of the server's own machine.
SELECT pg_catalog.current_setting('server_version_num')::integer AS version_number,
    pg_catalog.current_setting('server_version') AS version,
    pg_catalog.pg_is_in_recovery() AS is_replica,
    pg_catalog.current_setting('transaction_read_only') = 'on' AS read_only,
    (SELECT encryption.version FROM pg_catalog.pg_stat_ssl AS encryption WHERE encryption.pid = pg_catalog.pg_backend_pid() AND encryption.ssl)
        AS tls_version,
    coalesce(pg_catalog.inet_server_addr() <<= '127.0.0.0/8' OR pg_catalog.inet_server_addr() = '::1', true) AS is_near,
    (SELECT count(*) FROM pg_catalog.pg_stat_activity AS session WHERE session.backend_type = 'client backend') AS connections_used,
    (pg_catalog.current_setting('max_connections')::bigint - pg_catalog.current_setting('superuser_reserved_connections')::bigint)
        AS connections_limit
