-- Adds folded deltas to the counters.
-- Parameters: a row per queue: $1 queue; $2..$6 pending, running, completed, dead, cancelled;
-- $7..$9 bytes of completed, dead, cancelled; $10 corrupt; $11..$14 how many have ended, died, been
-- cancelled, been removed; $15 turn; $16 ring of the last ended.
-- Result: none.
-- Index: counts_pkey.
-- Locks: the counters. The caller holds the lock of folding.
INSERT INTO queuekit.counts AS old (
    queue, pending, running, completed, dead, cancelled, completed_size, dead_size,
    cancelled_size, corrupt, total_ended, total_dead, total_cancelled, total_removed, turn,
    last_ended
)
SELECT input.*
FROM unnest(
    $1::int[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
    $13::bigint[], $14::bigint[], $15::bigint[], $16::bytea[]
) AS input (
    queue, pending, running, completed, dead, cancelled, completed_size, dead_size,
    cancelled_size, corrupt, total_ended, total_dead, total_cancelled, total_removed, turn,
    last_ended
)
JOIN queuekit.queues ON queues.id = input.queue
ORDER BY input.queue
ON CONFLICT (queue) DO UPDATE
SET
    pending = old.pending + excluded.pending,
    running = old.running + excluded.running,
    completed = old.completed + excluded.completed,
    dead = old.dead + excluded.dead,
    cancelled = old.cancelled + excluded.cancelled,
    completed_size = old.completed_size + excluded.completed_size,
    dead_size = old.dead_size + excluded.dead_size,
    cancelled_size = old.cancelled_size + excluded.cancelled_size,
    corrupt = old.corrupt + excluded.corrupt,
    total_ended = old.total_ended + excluded.total_ended,
    total_dead = old.total_dead + excluded.total_dead,
    total_cancelled = old.total_cancelled + excluded.total_cancelled,
    total_removed = old.total_removed + excluded.total_removed,
    turn = greatest(old.turn, excluded.turn),
    last_ended = excluded.last_ended
