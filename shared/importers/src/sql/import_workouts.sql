SELECT imported.imported_workout_id, imported.imported_position
FROM tidemark.import_workouts_v1($1, $2, $3, $4, $5) AS imported
