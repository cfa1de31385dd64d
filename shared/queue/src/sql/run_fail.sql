SELECT tidemark.run_fail_v1($1, $2, $3, $4, $5)
