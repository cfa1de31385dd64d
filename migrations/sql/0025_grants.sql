-- Who may do what. The worker executes its transitions and touches no table; the application saves; the service role also
-- writes the source by other roads and reads what is published; anon sees nothing at all.

DO $lock_down$
DECLARE
    v_object record;
BEGIN
    FOR v_object IN
        SELECT table_class.oid::regclass AS name, table_class.relkind = 'r' AS is_table
        FROM pg_catalog.pg_class AS table_class
        JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = table_class.relnamespace
        WHERE namespace.nspname IN ('public', 'tidemark')
            AND table_class.relkind IN ('r', 'v')
            AND table_class.relowner = (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = 'tidemark_owner')
    LOOP
        -- On Supabase new tables of public are open to the application roles by default.
        EXECUTE pg_catalog.format('REVOKE ALL ON TABLE %s FROM PUBLIC, anon, authenticated, service_role, tidemark_worker', v_object.name);
        IF v_object.is_table THEN
            EXECUTE pg_catalog.format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', v_object.name);
        END IF;
    END LOOP;
    FOR v_object IN
        SELECT sequence_class.oid::regclass AS name
        FROM pg_catalog.pg_class AS sequence_class
        JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = sequence_class.relnamespace
        WHERE namespace.nspname IN ('public', 'tidemark')
            AND sequence_class.relkind = 'S'
            AND sequence_class.relowner = (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = 'tidemark_owner')
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON SEQUENCE %s FROM PUBLIC, anon, authenticated, service_role, tidemark_worker', v_object.name);
    END LOOP;
    FOR v_object IN
        SELECT routine.oid::regprocedure AS name
        FROM pg_catalog.pg_proc AS routine
        JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = routine.pronamespace
        WHERE namespace.nspname IN ('public', 'tidemark')
            AND routine.proowner = (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = 'tidemark_owner')
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM PUBLIC, anon, authenticated, service_role, tidemark_worker', v_object.name);
    END LOOP;
END
$lock_down$;

GRANT EXECUTE ON FUNCTION
    tidemark.schema_version_v1(),
    tidemark.begin_step_v1(text, integer),
    tidemark.tick_end_v1(text, text),
    tidemark.claim_v1(uuid, timestamptz),
    tidemark.compute_take_v1(uuid, timestamptz, integer),
    tidemark.compute_hold_v1(bigint, integer, uuid),
    tidemark.compute_stage_v1(bigint, integer, uuid, integer, integer, jsonb),
    tidemark.publish_take_v1(uuid, timestamptz),
    tidemark.publish_v1(bigint, integer, uuid),
    tidemark.run_fail_v1(bigint, integer, uuid, text, text),
    tidemark.run_phase_v1(bigint, integer, uuid),
    tidemark.source_profile_v1(uuid),
    tidemark.source_exercises_v1(uuid),
    tidemark.source_workouts_v1(uuid),
    tidemark.source_sets_v1(uuid),
    tidemark.source_bodyweights_v1(uuid),
    tidemark.source_dirty_v1(uuid, integer),
    public.stats_projection_worker_status_v1(),
    tidemark.dashboard_v1(),
    public.enqueue_job(integer, jsonb, text, integer, double precision, integer, text),
    tidemark.jobs_enqueue_v1(integer[], jsonb[], text[], integer[], double precision[], integer[], text[]),
    tidemark.jobs_claim_v1(uuid, integer, integer[], double precision, integer),
    tidemark.jobs_end_v1(uuid, bigint[], uuid[], integer[], text[], jsonb[], text[], text[], double precision[], uuid[]),
    tidemark.jobs_start_v1(uuid, uuid[]),
    tidemark.jobs_renew_v1(uuid, bigint[], uuid[], integer[], double precision),
    tidemark.job_progress_v1(uuid, uuid, integer, jsonb, bigint),
    tidemark.jobs_reap_v1(integer),
    tidemark.jobs_requeue_v1(uuid[]),
    tidemark.job_cancel_v1(uuid),
    tidemark.job_get_v1(uuid),
    tidemark.job_find_v1(text, boolean),
    tidemark.jobs_ops_v1(),
    tidemark.action_record_v1(bigint, text, text, bigint, text, text),
    tidemark.work_begin_v1(uuid, timestamptz),
    tidemark.alerts_untold_v1(integer),
    tidemark.alerts_told_v1(bigint[], bigint[], boolean[]),
    tidemark.history_purge_v1(integer),
    tidemark.schedules_due_v1(),
    tidemark.schedule_plan_v1(text, text, text, timestamptz),
    tidemark.schedule_fire_v1(text, text, text, timestamptz, timestamptz),
    tidemark.schedule_refuse_v1(text, text, text, text)
TO tidemark_worker;

GRANT EXECUTE ON FUNCTION
    public.save_workout_v1(uuid, jsonb),
    public.edit_workout_v1(uuid, uuid, jsonb),
    public.delete_workout_v1(uuid, uuid),
    public.wait_for_fresh_v1(uuid, integer),
    -- Only within policies and views: authenticated cannot name anything in the schema tidemark.
    tidemark.caller_v1(),
    tidemark.calendar_at_v1(text, smallint, timestamptz),
    tidemark.streak_at_v1(date, integer, date),
    tidemark.stale_since_v1(uuid)
TO authenticated, service_role;
GRANT EXECUTE ON FUNCTION
    tidemark.schema_version_v1(),
    public.stats_projection_worker_status_v1(),
    public.request_stats_refresh(uuid[], boolean),
    tidemark.import_workouts_v1(uuid, text, text, jsonb, boolean),
    tidemark.action_record_v1(bigint, text, text, bigint, text, text),
    public.enqueue_job(integer, jsonb, text, integer, double precision, integer, text),
    tidemark.jobs_enqueue_v1(integer[], jsonb[], text[], integer[], double precision[], integer[], text[])
TO service_role;

GRANT SELECT, INSERT, UPDATE, DELETE ON
    public.training_profiles, public.exercises, public.workouts, public.workout_sets, public.bodyweight_log
TO service_role;
GRANT SELECT ON
    public.user_exercise_stats, public.user_exercise_rep_maxes, public.user_exercise_stats_weekly,
    public.user_muscle_stats_weekly, public.user_stats_summary, public.user_stats_overview
TO authenticated, service_role;
GRANT SELECT (user_id, requested_generation, applied_generation, applied_at) ON public.user_stats_projection_state TO authenticated, service_role;
GRANT SELECT (user_id, time_zone, week_start, e1rm_formula, display_unit) ON public.training_profiles TO authenticated;
CREATE POLICY service_role_everything ON public.training_profiles TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_role_everything ON public.exercises TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_role_everything ON public.workouts TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_role_everything ON public.workout_sets TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_role_everything ON public.bodyweight_log TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_role_reads ON public.user_exercise_stats FOR SELECT TO service_role USING (true);
CREATE POLICY service_role_reads ON public.user_exercise_rep_maxes FOR SELECT TO service_role USING (true);
CREATE POLICY service_role_reads ON public.user_exercise_stats_weekly FOR SELECT TO service_role USING (true);
CREATE POLICY service_role_reads ON public.user_muscle_stats_weekly FOR SELECT TO service_role USING (true);
CREATE POLICY service_role_reads ON public.user_stats_summary FOR SELECT TO service_role USING (true);
