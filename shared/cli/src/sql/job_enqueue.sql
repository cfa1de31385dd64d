-- The payload goes as it was typed: what passed through a float would be another number.
SELECT enqueued.job_id, enqueued.inserted
FROM public.enqueue_job($1::integer, $2::text::jsonb, $3::text, $4::integer, $5::double precision, $6::integer, $7::text) AS enqueued
