SELECT tidemark.compute_stage_v1($1, $2, $3, $4, $5, $6)
