SELECT
    percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM run.published_at - job.created_at))::float8,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM run.published_at - job.created_at))::float8,
    count(*) FILTER (WHERE run.id IS NULL)
FROM public.user_exercise_stats_refresh_jobs AS job
LEFT JOIN public.user_stats_projection_runs AS run
    ON run.job_id = coalesce(job.absorbed_into_job_id, job.id) AND run.phase = 'published'
