-- Purpose: writes one partition key of a queue.
-- Parameters: in the order of the columns.
-- Index: the primary key.
-- Locks: runs inside a step.
INSERT INTO queuekit_lanes (
    queue, lane, waiting, running, held, head, turn, ready, next_at
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (queue, lane) DO UPDATE SET
    waiting = excluded.waiting, running = excluded.running, held = excluded.held,
    head = excluded.head, turn = excluded.turn, ready = excluded.ready,
    next_at = excluded.next_at;
