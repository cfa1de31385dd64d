SELECT untold.id, untold.kind, untold.subject, untold.error_code, untold.occurrences, untold.raised_at, untold.last_raised_at, untold.resolved_at
FROM tidemark.alerts_untold_v1($1) AS untold
