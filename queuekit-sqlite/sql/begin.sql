-- Purpose: begins a step of the writer. The write lock is taken now, not at the first write, so
-- that what the step reads cannot change before it writes.
-- Locks: the file's write lock, until COMMIT or ROLLBACK.
BEGIN IMMEDIATE;
