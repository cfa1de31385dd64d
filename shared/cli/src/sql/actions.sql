-- The newest actions first.
SELECT action.id, pg_catalog.to_char(action.acted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), action.command, action.subject,
    action.rows_changed, action.operator, action.database_role, pg_catalog.host(action.client_address), action.note
FROM tidemark.operator_actions AS action
ORDER BY action.id DESC
LIMIT $1
