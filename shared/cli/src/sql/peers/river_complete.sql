UPDATE public.river_job SET state = 'completed', finalized_at = clock_timestamp()
WHERE river_job.id = ANY ($1) AND river_job.state = 'running'
RETURNING river_job.id
