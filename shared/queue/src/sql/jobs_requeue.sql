SELECT requeued.job_id, requeued.outcome, requeued.active_job_id FROM tidemark.jobs_requeue_v1($1) AS requeued
