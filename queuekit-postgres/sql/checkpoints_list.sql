-- Reads the checkpoints of a job without their results, in the order in which they were stored.
-- Parameters: $1 id.
-- Result: name, at, and the bytes of the result.
-- Index: checkpoints_pkey.
-- Locks: none.
SELECT stored.name, stored.at, length(stored.result) AS bytes
FROM queuekit.checkpoints AS stored
WHERE stored.job = $1::uuid
ORDER BY stored.place
