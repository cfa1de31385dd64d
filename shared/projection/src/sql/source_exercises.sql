SELECT exercise.id, exercise.name, exercise.load_kind, exercise.bodyweight_share, exercise.implements, exercise.merged_into,
    exercise.per_side
FROM tidemark.source_exercises_v1($1) AS exercise
