SELECT tidemark.alerts_told_v1($1, $2, $3)
