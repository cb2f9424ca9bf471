-- Purpose: fixes a test's clock.
-- Parameters: $1 at which ms since 1970.
UPDATE queuekit.test_clock SET stands_at = $1::bigint
