-- How many users have a refresh whose attempts are used up.
SELECT count(DISTINCT job.user_id)
FROM public.user_exercise_stats_refresh_jobs AS job
WHERE job.status = 'failed' AND job.absorbed_into_job_id IS NULL
