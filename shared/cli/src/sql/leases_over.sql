-- Leases of a server that has just been started: nobody is left who could hold one. The next claims take the work back.
UPDATE public.user_stats_projection_runs SET lease_expires_at = clock_timestamp()
WHERE phase IN ('claimed', 'computing', 'computed', 'publishing') AND lease_expires_at > clock_timestamp();
UPDATE tidemark.job_lease SET lease_until = clock_timestamp() WHERE lease_until > clock_timestamp()
