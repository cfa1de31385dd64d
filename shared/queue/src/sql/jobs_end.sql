SELECT ended.outcome FROM tidemark.jobs_end_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS ended
