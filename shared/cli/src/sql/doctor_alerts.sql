-- Open alerts that were raised a while ago and told nobody.
SELECT count(*)
FROM public.alert_outbox AS alert
WHERE alert.resolved_at IS NULL AND alert.noticed_at IS NULL AND alert.raised_at < clock_timestamp() - interval '5 minutes'
