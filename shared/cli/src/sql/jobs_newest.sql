-- The newest jobs, whatever became of them: their ids begin with the time of their creation.
SELECT body.job_id
FROM tidemark.job_body AS body
ORDER BY body.job_id DESC
LIMIT $1::bigint
