-- queuekit, schema version 8: error groups.
--
-- Purpose: a row per group of errors of a queue that look alike (contract R8.4). The step that
-- records a failure or a death adds to its group. Programs of version 7 would count nothing.
-- Locks: the file's write lock, until the migration commits.
CREATE TABLE queuekit_error_groups (
    queue INTEGER NOT NULL,
    kind TEXT NOT NULL,
    -- The version of core's rules, a space, and the masked first line of the error.
    signature TEXT NOT NULL,
    failures INTEGER NOT NULL,
    deaths INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    -- The job that it was last added to for.
    sample BLOB NOT NULL,
    PRIMARY KEY (queue, kind, signature)
) STRICT, WITHOUT ROWID;
