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
    work_timeout_ms = coalesce($9, settings.work_timeout_ms),
    job_lease_seconds = coalesce($10, settings.job_lease_seconds),
    job_backoff_seconds = coalesce($11, settings.job_backoff_seconds),
    job_backoff_max_seconds = coalesce($12, settings.job_backoff_max_seconds),
    job_aging_seconds = coalesce($13, settings.job_aging_seconds),
    alert_oldest_pending_seconds = coalesce($14, settings.alert_oldest_pending_seconds),
    alert_tick_age_seconds = coalesce($15, settings.alert_tick_age_seconds),
    claim_enabled = coalesce($16, settings.claim_enabled),
    compute_enabled = coalesce($17, settings.compute_enabled),
    publish_enabled = coalesce($18, settings.publish_enabled),
    work_enabled = coalesce($19, settings.work_enabled),
    note = $20
WHERE settings.id = 1
RETURNING pg_catalog.to_jsonb(settings)
