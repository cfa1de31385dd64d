SELECT pg_catalog.to_jsonb(settings)
FROM public.stats_projection_worker_settings AS settings
