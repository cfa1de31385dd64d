SELECT claimed.lease_id, claimed.job_id, claimed.attempts, claimed.job_type, claimed.max_attempts, claimed.payload
FROM tidemark.jobs_claim_v1($1, $2) AS claimed
