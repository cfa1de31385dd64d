INSERT INTO public.job (job_type, payload, dedupe_key) VALUES ($1, $2, $3)
ON CONFLICT (dedupe_key) WHERE dedupe_key IS NOT NULL AND status IN (1, 2) DO NOTHING
RETURNING job_id
