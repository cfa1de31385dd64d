SELECT workout.id, workout.local_date, workout.local_time, workout.duration_seconds
FROM tidemark.source_workouts_v1($1) AS workout
