-- When and by whom each of the functions in $1 was paused, and why; where the history says so no more, when the settings
-- were last changed.
SELECT named.function_name,
    coalesce(change.changed_at, settings.updated_at),
    change.changed_by,
    coalesce(change.new_row ->> 'note', settings.note)
FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS named (function_name, place)
CROSS JOIN public.stats_projection_worker_settings AS settings
LEFT JOIN LATERAL (
    SELECT history.changed_at, history.changed_by, history.new_row
    FROM public.stats_projection_worker_settings_history AS history
    WHERE history.old_row ->> (named.function_name || '_enabled') = 'true'
        AND history.new_row ->> (named.function_name || '_enabled') = 'false'
    ORDER BY history.id DESC
    LIMIT 1
) AS change ON true
ORDER BY named.place
