SELECT purged.jobs, purged.runs, purged.refresh_jobs, purged.alerts, purged.instants
FROM tidemark.history_purge_v1($1) AS purged
