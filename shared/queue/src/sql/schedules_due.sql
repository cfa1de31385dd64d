SELECT due.name, due.cron_expression, due.time_zone, due.next_planned_at, due.looked_at
FROM tidemark.schedules_due_v1() AS due
