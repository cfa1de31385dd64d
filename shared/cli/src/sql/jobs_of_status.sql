-- Those of the jobs $1 that have status $2, in the order given, at most $3.
SELECT job.job_id
FROM public.jobs AS job
WHERE job.job_id = ANY ($1::uuid[]) AND job.status = $2::smallint
ORDER BY pg_catalog.array_position($1::uuid[], job.job_id)
LIMIT $3::bigint
