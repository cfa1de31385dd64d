SELECT logged.workout_id, logged.exercise_id, logged.position, logged.kind, logged.weight, logged.weight_unit, logged.reps,
    logged.duration_seconds, logged.distance_meters
FROM tidemark.source_sets_v1($1) AS logged
