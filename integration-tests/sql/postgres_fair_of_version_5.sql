-- Purpose: up to version 5, programs marked the jobs of a fair queue that have no partition key by
-- an empty one, and by a slot that none has.
-- Parameters: none; the schema's name is put in.
UPDATE queuekit.jobs SET lane = ''
FROM queuekit.queues WHERE queues.id = jobs.queue AND queues.is_fair AND jobs.lane IS NULL;
UPDATE queuekit.ready SET lane = '', slot = -1
FROM queuekit.queues WHERE queues.id = ready.queue AND queues.is_fair AND ready.lane IS NULL;
