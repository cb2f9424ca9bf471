-- queuekit, schema version 5: the audit log.
--
-- Purpose: a row per administrative act (contract R8.6). The newest is never removed, so the next
-- number is the largest plus one.
-- Locks: the file's write lock, until the migration commits.
CREATE TABLE queuekit_audit (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    act TEXT NOT NULL
) STRICT;
