-- Jobs in the order of their ids given as $1. $2: the whole row as a document too, for machines.
SELECT job.job_id, job.job_type, job.status, job.priority, job.attempts, job.max_attempts,
    left(coalesce(job.dedupe_key, ''), 200) AS dedupe_key,
    extract(epoch FROM clock_timestamp() - job.created_at)::bigint AS age_seconds,
    extract(epoch FROM CASE job.status
        WHEN 1 THEN job.run_after - clock_timestamp()
        WHEN 2 THEN clock_timestamp() - job.run_started_at
        ELSE clock_timestamp() - job.updated_at
    END)::bigint AS since_seconds,
    job.status = 2 AND job.lease_until <= clock_timestamp() AS lease_expired,
    coalesce(job.error_code, '') AS error_code,
    left(job.last_error, 200) AS last_error,
    left(job.payload::text, 200) AS payload,
    CASE WHEN $2::boolean THEN (
        to_jsonb(job) || jsonb_build_object('state', (ARRAY['pending', 'running', 'done', 'dead'])[job.status])
    )::text END AS document
FROM public.jobs AS job
WHERE job.job_id = ANY ($1::uuid[])
ORDER BY pg_catalog.array_position($1::uuid[], job.job_id)
