-- The partitions of the log of events, each a day of it.
-- Parameters: none.
-- Result: name, its first ms, the first ms after it, in order.
-- Index: none.
-- Locks: nothing.
SELECT
    child.relname::text AS name,
    (extract(epoch FROM to_date(right(child.relname, 8), 'YYYYMMDD')) * 1000)::bigint AS from_ms,
    (extract(epoch FROM to_date(right(child.relname, 8), 'YYYYMMDD') + 1) * 1000)::bigint AS to_ms
FROM pg_inherits AS inherits
JOIN pg_class AS child ON child.oid = inherits.inhrelid
WHERE inherits.inhparent = 'queuekit.events'::regclass
ORDER BY child.relname
