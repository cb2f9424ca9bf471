-- Purpose: reads all stored data by the function of postgres_dump.sql.
-- Parameters: $1 schema.
SELECT pg_temp.raw_dump($1)
