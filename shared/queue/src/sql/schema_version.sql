SELECT found.schema_version, found.minimum_function_version
FROM tidemark.schema_version_v1() AS found
