-- What is done, the newest job first. $1: of this type only; $2: how many; $3: how many finished jobs are looked at.
SELECT newest.job_id
FROM (
    SELECT finished.job_id, finished.status
    FROM tidemark.job_finished AS finished
    ORDER BY finished.job_id DESC
    LIMIT $3::bigint
) AS newest
JOIN tidemark.job_body AS body ON body.job_id = newest.job_id
WHERE newest.status = 3 AND ($1::integer IS NULL OR body.job_type = $1::integer)
ORDER BY newest.job_id DESC
LIMIT $2::bigint
