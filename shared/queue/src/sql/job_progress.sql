SELECT tidemark.job_progress_v1($1, $2, $3, $4, $5)
