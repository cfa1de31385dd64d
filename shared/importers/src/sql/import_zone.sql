SELECT coalesce($2::text, (SELECT profile.time_zone FROM public.training_profiles AS profile WHERE profile.user_id = $1), 'UTC')
