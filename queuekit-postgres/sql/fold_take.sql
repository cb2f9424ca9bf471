-- Takes deltas to fold them.
-- Parameters: $1 most of them.
-- Result: a row per delta, in order: queue; pending, running, completed, dead, cancelled; bytes of
-- completed, dead, cancelled; corrupt; ended; died; turn.
-- Index: none: the table is short.
-- Locks: the rows it removes. The caller holds the lock of folding.
WITH taken AS (
    DELETE FROM queuekit.deltas
    WHERE deltas.ctid = ANY (ARRAY(
        SELECT part.ctid
        FROM queuekit.deltas AS part
        LIMIT $1::int
    ))
    RETURNING deltas.*
)
SELECT
    taken.queue, taken.pending, taken.running, taken.completed, taken.dead, taken.cancelled,
    taken.completed_size, taken.dead_size, taken.cancelled_size, taken.corrupt, taken.ended,
    taken.died, taken.turn
FROM taken
ORDER BY taken.id
