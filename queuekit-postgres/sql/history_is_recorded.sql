-- Tells whether a minute was recorded.
-- Parameters: $1 the minute.
-- Result: one row: whether it was, or a later one.
-- Index: none: the table has one row.
-- Locks: nothing.
SELECT coalesce(max(history_mark.minute), 0) >= $1::bigint AS recorded
FROM queuekit.history_mark
