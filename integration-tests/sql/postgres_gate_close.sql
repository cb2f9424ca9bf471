-- Purpose: closes a gate.
-- Parameters: $1 which.
SELECT pg_advisory_lock(77, $1::int)
