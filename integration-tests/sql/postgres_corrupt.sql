-- Purpose: makes a job's record unreadable, as a broken program or disk would: no run takes less than no
-- time.
-- Parameters: $1 id.
UPDATE queuekit.jobs SET timeout_ms = -1 WHERE id = $1::uuid
