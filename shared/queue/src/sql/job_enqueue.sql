SELECT enqueued.job_id, enqueued.inserted FROM public.enqueue_job($1, $2, $3, $4, $5, $6, $7) AS enqueued
