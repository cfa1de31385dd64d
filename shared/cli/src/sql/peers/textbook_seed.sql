INSERT INTO public.job (job_type, priority, payload)
SELECT 7, CASE number % 10 WHEN 0 THEN 50 WHEN 1 THEN 200 ELSE 100 END,
    jsonb_build_object('user', number, 'what', 'recompute the yearly summary')
FROM generate_series(1, $1) AS number
