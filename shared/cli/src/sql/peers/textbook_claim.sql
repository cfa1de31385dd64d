WITH picked AS MATERIALIZED (
    SELECT job.job_id
    FROM public.job
    WHERE job.status = 1 AND job.run_after <= clock_timestamp()
    ORDER BY job.priority, job.job_id
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
UPDATE public.job
SET status = 2, worker_id = $1, attempts = job.attempts + 1, lease_until = clock_timestamp() + interval '60 seconds',
    run_started_at = clock_timestamp(), updated_at = clock_timestamp()
FROM picked
WHERE job.job_id = picked.job_id
RETURNING job.job_id, job.job_type, job.attempts, job.max_attempts, job.payload
