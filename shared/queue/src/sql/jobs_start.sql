SELECT tidemark.jobs_start_v1($1, $2)
