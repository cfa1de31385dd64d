WITH picked AS (
    SELECT message.msg_id
    FROM public.message
    WHERE message.vt <= clock_timestamp()
    ORDER BY message.msg_id
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
UPDATE public.message
SET vt = clock_timestamp() + interval '60 seconds', read_ct = message.read_ct + 1
FROM picked
WHERE message.msg_id = picked.msg_id
RETURNING message.msg_id, message.read_ct, message.enqueued_at, message.vt, message.message
