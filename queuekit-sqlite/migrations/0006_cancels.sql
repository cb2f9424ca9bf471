-- queuekit, schema version 6: an index of running jobs that were asked to stop.
--
-- Purpose: when another process has written, each process looks whether it has asked jobs to stop
-- (contract R13.1).
-- Locks: the file's write lock, until the migration commits; it reads the running jobs once.
CREATE INDEX queuekit_jobs_cancels ON queuekit_jobs (queue)
    WHERE state = 1 AND cancel_requested = 1;
