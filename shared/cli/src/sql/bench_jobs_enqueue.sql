SELECT enqueued.job_id, enqueued.inserted FROM public.enqueue_job($1, $2, $3) AS enqueued
