-- The partitions of a table, each a day of it.
-- Parameters: $1 the table.
-- Result: name, its first ms, the first ms after it, in order; whether its detachment was
-- interrupted; whether it is still attached to the table.
-- Index: none.
-- Locks: nothing.
SELECT
    child.relname::text AS name,
    (extract(epoch FROM to_date(right(child.relname, 8), 'YYYYMMDD')) * 1000)::bigint AS from_ms,
    (extract(epoch FROM to_date(right(child.relname, 8), 'YYYYMMDD') + 1) * 1000)::bigint AS to_ms,
    coalesce(inherits.inhdetachpending, false) AS is_pending,
    inherits.inhrelid IS NOT NULL AS is_attached
FROM pg_class AS child
JOIN pg_namespace AS space ON space.oid = child.relnamespace AND space.nspname = 'queuekit'
LEFT JOIN pg_inherits AS inherits
    ON inherits.inhrelid = child.oid AND inherits.inhparent = ('queuekit.' || $1::text)::regclass
WHERE child.relkind = 'r' AND child.relname ~ ('^' || $1::text || '_[0-9]{8}$')
ORDER BY child.relname
