-- Lets dead jobs wait again; each is answered on its own, with what it is now where it was not dead.
SELECT answered.job_id, answered.outcome, answered.active_job_id, job.status
FROM tidemark.jobs_requeue_v1($1::uuid[]) AS answered
LEFT JOIN LATERAL tidemark.job_get_v1(CASE WHEN answered.outcome = 'not_dead' THEN answered.job_id END) AS job ON true
