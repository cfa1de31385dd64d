INSERT INTO public.river_job (kind, priority, args)
SELECT 'recompute', CASE number % 10 WHEN 0 THEN 1 WHEN 1 THEN 3 ELSE 2 END,
    jsonb_build_object('user', number, 'what', 'recompute the yearly summary')
FROM generate_series(1, $1) AS number
