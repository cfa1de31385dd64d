SELECT tidemark.begin_step_v1($1, $2)
