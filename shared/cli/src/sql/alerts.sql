-- Alerts, open ones first, then the latest. $1: resolved ones too; $2: how many.
SELECT alert.id, alert.kind, alert.subject, alert.error_code, alert.occurrences, alert.raised_at, alert.last_raised_at,
    alert.resolved_at, alert.noticed_at AS told_at, clock_timestamp() AS as_of
FROM public.alert_outbox AS alert
WHERE $1::boolean OR alert.resolved_at IS NULL
ORDER BY alert.resolved_at DESC NULLS FIRST, alert.last_raised_at DESC, alert.id DESC
LIMIT $2::bigint
