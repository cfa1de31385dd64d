SELECT reaped.job_id, reaped.job_type, reaped.status, reaped.last_error FROM tidemark.jobs_reap_v1($1) AS reaped
