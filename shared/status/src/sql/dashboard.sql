SELECT public.stats_projection_worker_status_v1(), tidemark.dashboard_v1()
