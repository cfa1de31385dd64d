INSERT INTO public.message (message)
SELECT jsonb_build_object('user', number, 'what', 'recompute the yearly summary') FROM generate_series(1, $1) AS number
