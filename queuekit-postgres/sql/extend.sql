-- Extends leases that hold, and that nobody is settling.
-- Parameters: a column each, a row per lease: $1 id; $2 queue; $3 lease_seq; $4 nonce. $5 ttl in
-- ms.
-- Result: id and cancel_requested of those that were extended.
-- Index: running_pkey.
-- Locks: the leases; passes over those that others hold.
WITH lease AS MATERIALIZED (
    SELECT held.id
    FROM unnest($1::uuid[], $2::int[], $3::bigint[], $4::uuid[])
        AS input (id, queue, lease_seq, nonce)
    CROSS JOIN LATERAL (
        SELECT running.id
        FROM queuekit.running
        WHERE
            running.id = input.id
            AND running.queue = input.queue
            AND running.lease_seq = input.lease_seq
            AND running.nonce = input.nonce
        FOR UPDATE SKIP LOCKED
    ) AS held
)
UPDATE queuekit.running
SET lease_expires_at = clock.now + $5::bigint
FROM lease
CROSS JOIN (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
WHERE running.id = lease.id
RETURNING running.id, running.cancel_requested
