-- How many jobs of each type are dead, those that somebody cancelled apart; and until when that was counted.
SELECT body.job_type, count(*) FILTER (WHERE finished.error_code IS DISTINCT FROM 'cancelled') AS dead,
    count(*) FILTER (WHERE finished.error_code = 'cancelled') AS cancelled, statement_timestamp() AS counted_at
FROM tidemark.job_finished AS finished
JOIN tidemark.job_body AS body ON body.job_id = finished.job_id
WHERE finished.status = 4 AND ($1::integer IS NULL OR body.job_type = $1::integer)
GROUP BY body.job_type
ORDER BY body.job_type
