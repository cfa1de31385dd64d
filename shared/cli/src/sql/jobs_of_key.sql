-- The jobs of one key, the newest first. $1: the key; $2: of this type only; $3: how many.
SELECT body.job_id
FROM tidemark.job_body AS body
WHERE body.dedupe_key = $1::text AND ($2::integer IS NULL OR body.job_type = $2::integer)
ORDER BY body.position DESC
LIMIT $3::bigint
