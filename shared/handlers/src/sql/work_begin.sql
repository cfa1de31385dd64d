SELECT began.outcome, began.reaped, began.died, began.schedules_due, began.handler_timeout_ms, began.lease_seconds
FROM tidemark.work_begin_v1($1, $2) AS began
