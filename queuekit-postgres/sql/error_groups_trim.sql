-- Removes the least recent error groups of queues, after some were added to.
-- Parameters: $1 queues, $2 how many of each are kept.
-- Result: none.
-- Index: error_groups_pkey.
-- Locks: the rows it removes. The caller holds the lock of folding.
DELETE FROM queuekit.error_groups
WHERE error_groups.ctid = ANY (ARRAY(
    SELECT ranked.ctid
    FROM (
        SELECT
            part.ctid,
            row_number() OVER (
                PARTITION BY part.queue
                ORDER BY part.last DESC, part.kind DESC, part.signature DESC
            ) AS place
        FROM queuekit.error_groups AS part
        WHERE part.queue = ANY ($1::int[])
    ) AS ranked
    WHERE ranked.place > $2::bigint
))
