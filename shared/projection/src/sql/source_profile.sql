SELECT profile.week_start, profile.e1rm_formula FROM tidemark.source_profile_v1($1) AS profile
