SELECT ended.job_id, ended.outcome FROM tidemark.jobs_end_v1($1, $2, $3, $4, $5) AS ended
