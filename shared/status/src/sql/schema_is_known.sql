-- Whether the schema has every function that this build calls. A changed function gets a new name, so that this tells the
-- version of the schema, and the worker role may ask it: the list of migrations is not its to read.
SELECT pg_catalog.bool_and(pg_catalog.to_regprocedure(called.name) IS NOT NULL)
FROM (VALUES
    ('tidemark.schema_version_v1()'),
    ('tidemark.begin_step_v1(text, integer)'),
    ('tidemark.tick_end_v1(text, text)'),
    ('tidemark.claim_v1(uuid, timestamptz)'),
    ('tidemark.compute_take_v1(uuid, timestamptz)'),
    ('tidemark.compute_hold_v1(bigint, integer, uuid)'),
    ('tidemark.compute_stage_v1(bigint, integer, uuid, integer, integer, jsonb)'),
    ('tidemark.publish_take_v1(uuid, timestamptz)'),
    ('tidemark.publish_v1(bigint, integer, uuid)'),
    ('tidemark.run_fail_v1(bigint, integer, uuid, text, text)'),
    ('tidemark.run_phase_v1(bigint, integer, uuid)'),
    ('tidemark.source_profile_v1(uuid)'),
    ('tidemark.source_exercises_v1(uuid)'),
    ('tidemark.source_workouts_v1(uuid)'),
    ('tidemark.source_sets_v1(uuid)'),
    ('tidemark.source_bodyweights_v1(uuid)'),
    ('tidemark.source_dirty_v1(uuid, integer)'),
    ('public.stats_projection_worker_status_v1()')
) AS called (name)
