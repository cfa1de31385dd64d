-- The next dead jobs after ($2, $3), or from the first one on, that died before $4 and that nobody cancelled. $1: of this type only; $5: how many.
SELECT finished.job_id, finished.finished_at
FROM tidemark.job_finished AS finished
JOIN tidemark.job_body AS body ON body.job_id = finished.job_id
WHERE finished.status = 4 AND finished.error_code IS DISTINCT FROM 'cancelled'
    AND (finished.finished_at, finished.job_id) > (coalesce($2::timestamptz, '-infinity'), $3::uuid) AND finished.finished_at <= $4::timestamptz
    AND ($1::integer IS NULL OR body.job_type = $1::integer)
ORDER BY finished.finished_at, finished.job_id
LIMIT $5::bigint
