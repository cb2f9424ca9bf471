-- Purpose: all that is stored, as the function of postgres_dump.sql tells it.
-- Parameters: $1 schema.
SELECT pg_temp.raw_dump($1)
