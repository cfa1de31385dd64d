SELECT tidemark.rebuild_cancel_v1()
