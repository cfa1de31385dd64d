SELECT renewed.lease_until, renewed.cancel_requested FROM tidemark.jobs_renew_v1($1, $2, $3, $4, $5) AS renewed
