-- Removes the checkpoints of jobs that do not run.
-- Parameters: $1 ids.
-- Result: the id of each job that had some, once per checkpoint.
-- Index: checkpoints_pkey, running_pkey.
-- Locks: the checkpoints it removes.
DELETE FROM queuekit.checkpoints AS stored
WHERE
    stored.job = ANY ($1::uuid[])
    AND NOT EXISTS (SELECT FROM queuekit.running WHERE running.id = stored.job)
RETURNING stored.job
