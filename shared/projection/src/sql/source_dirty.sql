SELECT dirty.everything, dirty.exercise_ids FROM tidemark.source_dirty_v1($1, $2) AS dirty
