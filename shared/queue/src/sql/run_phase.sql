SELECT tidemark.run_phase_v1($1, $2, $3)
