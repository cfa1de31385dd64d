-- What waits, in about the order in which it will be claimed, read at the heads: of each lane of ready jobs, of the groups, of the
-- schedule. $1: of this type only; $2: how many; $3: how many scheduled jobs are looked at for the type.
WITH RECURSIVE lane (job_type, priority, floor) AS (
    SELECT 0, -2147483648, 0::bigint
    UNION ALL
    SELECT next.job_type, next.priority, next.floor
    FROM lane
    CROSS JOIN LATERAL (
        -- The next lane that claims know, or before it one that no claim has seen yet. Below the floor of a known lane lie only
        -- dead entries, which need not be passed.
        SELECT coalesce(unseen.job_type, known.job_type) AS job_type, coalesce(unseen.priority, known.priority) AS priority,
            CASE WHEN unseen.job_type IS NULL THEN known.floor ELSE 0 END AS floor
        FROM (VALUES (true)) AS always (there)
        LEFT JOIN LATERAL (
            SELECT listed.job_type, listed.priority, listed.floor
            FROM tidemark.job_lane AS listed
            WHERE (listed.job_type, listed.priority) > (lane.job_type, lane.priority)
            ORDER BY listed.job_type, listed.priority
            LIMIT 1
        ) AS known ON always.there
        LEFT JOIN LATERAL (
            SELECT ready.job_type, ready.priority
            FROM tidemark.job_ready AS ready
            WHERE (ready.job_type, ready.priority) > (lane.job_type, lane.priority)
                AND (ready.job_type, ready.priority) < (coalesce(known.job_type, 2147483647), coalesce(known.priority, 2147483647))
            ORDER BY ready.job_type, ready.priority
            LIMIT 1
        ) AS unseen ON always.there
    ) AS next
    WHERE next.job_type IS NOT NULL
), heads AS (
    SELECT first.job_id, first.priority, first.waiting_since, first.waiting_since AS due_at
    FROM lane
    CROSS JOIN LATERAL (VALUES (-4611686018427387904::bigint, -1::bigint), (lane.floor, 4611686018427387904::bigint)) AS half (low, high)
    CROSS JOIN LATERAL (
        SELECT ready.job_id, ready.priority, ready.waiting_since
        FROM tidemark.job_ready AS ready
        WHERE ready.job_type = lane.job_type AND ready.priority = lane.priority AND ready.rank BETWEEN half.low AND half.high
        ORDER BY ready.rank
        LIMIT $2::bigint
    ) AS first
    WHERE lane.job_type BETWEEN coalesce($1::integer, 1) AND coalesce($1::integer, 2147483647)
    UNION ALL
    (
        SELECT grouped.job_id, grouped.priority, grouped.waiting_since, grouped.waiting_since
        FROM tidemark.job_grouped AS grouped
        WHERE grouped.job_type BETWEEN coalesce($1::integer, 1) AND coalesce($1::integer, 2147483647)
        ORDER BY grouped.job_type, grouped.group_key, grouped.priority, grouped.position
        LIMIT $2::bigint
    )
    UNION ALL
    (
        SELECT soonest.job_id, soonest.priority, soonest.waiting_since, soonest.due_at
        FROM (
            SELECT scheduled.job_id, scheduled.job_type, scheduled.priority, scheduled.waiting_since, scheduled.due_at
            FROM tidemark.job_scheduled AS scheduled
            ORDER BY scheduled.due_at
            LIMIT $3::bigint
        ) AS soonest
        WHERE soonest.job_type BETWEEN coalesce($1::integer, 1) AND coalesce($1::integer, 2147483647)
        ORDER BY soonest.due_at
        LIMIT $2::bigint
    )
)
SELECT heads.job_id
FROM heads
ORDER BY greatest(heads.due_at, statement_timestamp()),
    heads.priority - extract(epoch FROM statement_timestamp() - heads.waiting_since)
        / (SELECT settings.job_aging_seconds FROM public.stats_projection_worker_settings AS settings),
    heads.waiting_since
LIMIT $2::bigint
