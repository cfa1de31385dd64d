SELECT count(*)
FROM tidemark.jobs_enqueue_v1(
    (SELECT array_agg(7) FROM generate_series(1, $1)),
    (SELECT array_agg(jsonb_build_object('user', number, 'what', 'recompute the yearly summary')) FROM generate_series(1, $1) AS number),
    NULL,
    (SELECT array_agg(CASE number % 10 WHEN 0 THEN 50 WHEN 1 THEN 200 ELSE 100 END) FROM generate_series(1, $1) AS number),
    (SELECT array_agg(0::double precision) FROM generate_series(1, $1)),
    (SELECT array_agg(3) FROM generate_series(1, $1)),
    NULL
)
