-- queuekit, schema version 13: waiting jobs that have failed are counted by an index.
--
-- Purpose: to tell failed jobs from scheduled ones, a listing of queues looked at each job that was
-- not due (contract R8.3). Programs of version 12 work with it. Where another schema than
-- `queuekit` was chosen, each `queuekit.` below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits; SHARE on jobs, for as long
-- as the index takes: nobody enqueues, acks or nacks meanwhile.

CREATE INDEX jobs_failed ON queuekit.jobs (queue, scheduled_at)
    WHERE attempts > 0 AND coalesce(lane, '') = '';
