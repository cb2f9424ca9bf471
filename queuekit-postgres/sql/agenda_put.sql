-- Puts a partition key on the agenda.
-- Parameters: $1 queue; $2 partition key.
-- Result: none.
-- Index: none.
-- Locks: nothing.
INSERT INTO queuekit.agenda (at, queue, lane)
VALUES (queuekit.now_ms(), $1::int, $2::text)
