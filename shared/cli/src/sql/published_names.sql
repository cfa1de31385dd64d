-- The names under which figures of a user are published, each with what is logged under names that are merged into it.
SELECT stats.exercise_name, merged.name
FROM public.user_exercise_stats AS stats
LEFT JOIN public.exercises AS merged ON merged.user_id = stats.user_id AND merged.merged_into = stats.exercise_id
WHERE stats.user_id = $1
ORDER BY stats.exercise_name, merged.name
