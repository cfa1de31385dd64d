SELECT tidemark.job_cancel_v1($1::uuid)
