SELECT result.outcome, result.rows_changed, result.rows_unchanged, result.rows_deleted
FROM tidemark.publish_v1($1, $2, $3) AS result
