-- What runs, the longest running first. $1: of this type only; $2: how many.
SELECT member.job_id
FROM tidemark.job_lease AS lease
CROSS JOIN LATERAL pg_catalog.unnest(lease.job_ids) AS member (job_id)
JOIN tidemark.job_body AS body ON body.job_id = member.job_id
WHERE $1::integer IS NULL OR body.job_type = $1::integer
ORDER BY lease.claimed_at, body.position
LIMIT $2::bigint
