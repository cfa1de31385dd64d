DELETE FROM public.message WHERE message.msg_id = ANY ($1) RETURNING message.msg_id
