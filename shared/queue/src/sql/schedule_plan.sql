SELECT tidemark.schedule_plan_v1($1, $2, $3, $4)
