-- Purpose: whether nobody is connected to a database.
-- Parameters: $1 its name.
SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = $1::text)
