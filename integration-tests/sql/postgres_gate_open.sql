-- Purpose: opens a gate.
-- Parameters: $1 which.
SELECT pg_advisory_unlock(77, $1::int)
