SELECT started.rebuild_id, started.started FROM tidemark.rebuild_start_v1() AS started
