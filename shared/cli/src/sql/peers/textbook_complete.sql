UPDATE public.job
SET status = 3, lease_until = NULL, updated_at = clock_timestamp()
FROM unnest($2::bigint[], $3::integer[]) AS given (job_id, attempts)
WHERE job.job_id = given.job_id AND job.worker_id = $1 AND job.attempts = given.attempts AND job.status = 2
RETURNING job.job_id
