SELECT job.job_id, job.job_type, job.status, job.priority, job.payload::text AS payload, job.result::text AS result,
    job.progress::text AS progress, job.dedupe_key, job.attempts, job.max_attempts, job.worker_id, job.lease_until, job.run_after,
    job.run_started_at, job.last_error, job.created_at, job.updated_at, job.group_key, job.cancel_requested, job.error_code
FROM tidemark.job_get_v1($1) AS job
