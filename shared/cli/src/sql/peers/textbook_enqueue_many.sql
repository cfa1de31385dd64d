INSERT INTO public.job (job_type, payload, dedupe_key, priority, run_after, max_attempts)
SELECT given.job_type, given.payload, given.dedupe_key, given.priority,
    clock_timestamp() + make_interval(secs => given.delay_seconds), given.max_attempts
FROM unnest($1::integer[], $2::jsonb[], $3::text[], $4::integer[], $5::double precision[], $6::integer[])
    AS given (job_type, payload, dedupe_key, priority, delay_seconds, max_attempts)
ON CONFLICT (dedupe_key) WHERE dedupe_key IS NOT NULL AND status IN (1, 2) DO NOTHING
RETURNING job_id
