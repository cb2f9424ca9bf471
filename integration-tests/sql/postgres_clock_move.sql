-- Purpose: moves a test's clock.
-- Parameters: $1 by how many ms, back if below 0.
UPDATE queuekit.test_clock SET ahead_by = ahead_by + $1::bigint
