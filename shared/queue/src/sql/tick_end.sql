SELECT tidemark.tick_end_v1($1, $2)
