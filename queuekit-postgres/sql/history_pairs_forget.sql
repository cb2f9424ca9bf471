-- Forgets pairs of queue and kind that nothing was added to for long.
-- Parameters: $1 last added to before.
-- Result: one row: how many were forgotten.
-- Index: none: the table has few rows.
-- Locks: the rows that it removes.
WITH removed AS (
    DELETE FROM queuekit.history_pairs
    WHERE history_pairs.last < $1::bigint
    RETURNING 1
)
SELECT count(*) AS removed
FROM removed
