WITH locked AS (
    SELECT river_job.id
    FROM public.river_job
    WHERE river_job.state = 'available' AND river_job.queue = 'default' AND river_job.scheduled_at <= now()
    ORDER BY river_job.priority, river_job.scheduled_at, river_job.id
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
UPDATE public.river_job
SET state = 'running', attempt = river_job.attempt + 1, attempted_at = clock_timestamp(),
    attempted_by = array_append(river_job.attempted_by, $1)
FROM locked
WHERE river_job.id = locked.id
RETURNING river_job.id, river_job.kind, river_job.attempt, river_job.max_attempts, river_job.args
