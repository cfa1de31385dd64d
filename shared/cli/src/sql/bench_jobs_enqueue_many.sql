SELECT enqueued.ordinal, enqueued.job_id, enqueued.inserted
FROM tidemark.jobs_enqueue_v1($1, $2, $3, $4, $5, $6, $7) AS enqueued
