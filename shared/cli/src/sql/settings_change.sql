-- What is not given stays. The note says why the row was last changed, so that it changes every time.
UPDATE public.stats_projection_worker_settings AS settings
SET claim_timeout_ms = coalesce($1, settings.claim_timeout_ms),
    compute_timeout_ms = coalesce($2, settings.compute_timeout_ms),
    publish_timeout_ms = coalesce($3, settings.publish_timeout_ms),
    lease_seconds = coalesce($4, settings.lease_seconds),
    max_active = coalesce($5, settings.max_active),
    max_attempts = coalesce($6, settings.max_attempts),
    backoff_seconds = coalesce($7, settings.backoff_seconds),
    history_retention_days = coalesce($8, settings.history_retention_days),
    claim_enabled = coalesce($9, settings.claim_enabled),
    compute_enabled = coalesce($10, settings.compute_enabled),
    publish_enabled = coalesce($11, settings.publish_enabled),
    work_enabled = coalesce($12, settings.work_enabled),
    note = $13
WHERE settings.id = 1
RETURNING pg_catalog.to_jsonb(settings)
