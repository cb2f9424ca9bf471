-- Purpose: lists the waiting jobs of all keys after one, by key and sequence.
-- Parameters: 1 queue, 2 lane, 3 how many.
-- Result: key, lane, seq.
-- Index: queuekit_jobs_lane. It says `state < 1`, not `= 0`, because a constant column in the
-- middle of an index makes SQLite sort all jobs of a key.
SELECT key, lane, seq FROM queuekit_jobs INDEXED BY queuekit_jobs_lane
WHERE queue = ?1 AND lane > ?2 AND state < 1 AND state < 2
ORDER BY lane, state, seq LIMIT ?3;
