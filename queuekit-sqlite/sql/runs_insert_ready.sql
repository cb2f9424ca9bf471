-- Purpose: lets ready jobs run under a claim, those between two places in serving order.
-- Parameters: 1 queue, 2 rank, 3 at and 4 seq of the first, 5 at and 6 seq of the last, 7 claim.
-- Result: as many changed rows as jobs; fewer if one of them runs already or has completed.
-- Index: the primary key.
-- Locks: runs inside a step, before ready_delete_range.
INSERT OR IGNORE INTO queuekit_runs (job, claim, queue, seq, lane)
SELECT job, ?7, queue, seq, nullif(lane, '') FROM queuekit_ready
WHERE queue = ?1 AND rank = ?2 AND (at, seq) >= (?3, ?4) AND (at, seq) <= (?5, ?6);
