-- What is dead, the latest death first. $1: of this type only; $2: how many; $3: how many dead jobs are looked at.
SELECT latest.job_id
FROM (
    SELECT finished.job_id, finished.finished_at
    FROM tidemark.job_finished AS finished
    WHERE finished.status = 4
    ORDER BY finished.finished_at DESC
    LIMIT $3::bigint
) AS latest
JOIN tidemark.job_body AS body ON body.job_id = latest.job_id
WHERE $1::integer IS NULL OR body.job_type = $1::integer
ORDER BY latest.finished_at DESC, latest.job_id DESC
LIMIT $2::bigint
