-- One job with everything that is known of it. Figures are formatted here: none passes through a float.
SELECT job.job_type, job.status, job.priority, job.attempts, job.max_attempts, job.dedupe_key, job.group_key, job.worker_id,
    job.created_at, job.run_after, job.run_started_at, job.lease_until, job.updated_at, job.cancel_requested,
    job.status = 2 AND job.lease_until <= clock_timestamp() AS lease_expired,
    job.error_code, job.last_error,
    jsonb_pretty(job.payload) AS payload, jsonb_pretty(job.progress) AS progress, jsonb_pretty(job.result) AS result,
    (to_jsonb(job) || jsonb_build_object('state', (ARRAY['pending', 'running', 'done', 'dead'])[job.status]))::text AS document
FROM tidemark.job_get_v1($1::uuid) AS job
