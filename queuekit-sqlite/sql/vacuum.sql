-- Purpose: returns pages that pruning freed to the file system, some at a time. Does nothing in a
-- file that was not created with auto_vacuum = INCREMENTAL.
-- Locks: the file's write lock, for a few milliseconds.
PRAGMA incremental_vacuum(1000);
