SELECT tidemark.compute_hold_v1($1, $2, $3)
