-- Purpose: keeps the runs of a queue and kind apart, if they are known or fewer than the limit are.
-- Parameters: 1 queue, 2 kind, 3 now, 4 the limit.
-- Result: changes a row if they are kept apart.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_history_pairs (queue, kind, last)
SELECT ?1, ?2, ?3
WHERE
    EXISTS (SELECT 1 FROM queuekit_history_pairs WHERE queue = ?1 AND kind = ?2)
    OR (SELECT count(*) FROM queuekit_history_pairs) < ?4
ON CONFLICT (queue, kind) DO UPDATE SET last = max(last, excluded.last);
