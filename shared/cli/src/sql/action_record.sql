-- Remembers the command, or adds to what is remembered of it.
SELECT tidemark.action_record_v1($1::bigint, $2::text, $3::text, $4::bigint, $5::text, $6::text)
