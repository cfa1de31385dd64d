SELECT tidemark.schedule_refuse_v1($1, $2, $3, $4)
