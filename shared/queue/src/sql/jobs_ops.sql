SELECT tidemark.jobs_ops_v1()
