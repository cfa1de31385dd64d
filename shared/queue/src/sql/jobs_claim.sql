SELECT claimed.lease_id, claimed.lease_until, claimed.job_id, claimed.job_type, claimed.priority, claimed.attempts, claimed.max_attempts,
    claimed.dedupe_key, claimed.group_key, claimed.payload::text, claimed.created_at, claimed.suspect
FROM tidemark.jobs_claim_v1($1, $2, $3, $4, $5) AS claimed
