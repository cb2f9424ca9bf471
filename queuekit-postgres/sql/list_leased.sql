-- Leases of a queue by their expiry, after a place.
-- Parameters: $1 queue; $2 expiry, $3 sequence of the place; $4 most.
-- Result: id, expiry, sequence, in order.
-- Index: running_expiry.
-- Locks: nothing.
SELECT lease.id, lease.lease_expires_at AS time, lease.seq
FROM (
    -- The index has no sequence, so all leases of the last time are read and sorted, and no others.
    SELECT running.id, running.lease_expires_at, running.seq
    FROM queuekit.running
    WHERE
        running.queue = $1::int
        AND running.lease_expires_at >= $2::bigint
        AND (running.lease_expires_at, running.seq) > ($2::bigint, $3::bigint)
    ORDER BY running.lease_expires_at
    FETCH FIRST ($4::int) ROWS WITH TIES
) AS lease
ORDER BY lease.lease_expires_at, lease.seq
LIMIT $4::int
