SELECT EXISTS (SELECT FROM pg_catalog.pg_timezone_names AS zone WHERE zone.name = $1)
