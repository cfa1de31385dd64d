UPDATE public.user_exercise_stats_refresh_jobs
SET status = 'pending', attempts = 0, error_message = '', updated_at = now()
WHERE status = 'failed' AND absorbed_into_job_id IS NULL
RETURNING user_id
