-- Purpose: makes a job's record unreadable, as a broken program or disk would: no kind is empty.
-- Parameters: $1 id.
UPDATE queuekit.jobs SET kind = '' WHERE id = $1::uuid
