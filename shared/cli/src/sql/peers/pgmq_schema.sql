CREATE TABLE public.message (
    msg_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    read_ct integer NOT NULL DEFAULT 0,
    enqueued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    vt timestamptz NOT NULL DEFAULT clock_timestamp(),
    message jsonb NOT NULL
);
CREATE INDEX message_vt ON public.message (vt);
