-- The newest jobs, whatever became of them: their ids begin with the time of their creation. $1: of this type only; $2: how many;
-- $3: how many are looked at.
SELECT newest.job_id
FROM (
    SELECT body.job_id, body.job_type
    FROM tidemark.job_body AS body
    ORDER BY body.job_id DESC
    LIMIT $3::bigint
) AS newest
WHERE $1::integer IS NULL OR newest.job_type = $1::integer
ORDER BY newest.job_id DESC
LIMIT $2::bigint
