-- Extends leases that hold, and that nobody is settling.
-- Parameters: a column each, a row per lease: $1 id; $2 lease_seq; $3 nonce. $4 ttl in ms.
-- Result: id and cancel_requested of those that were extended.
-- Index: running_pkey.
-- Locks: the leases; passes over those that others hold.
WITH lease AS MATERIALIZED (
    SELECT held.id
    FROM unnest($1::uuid[], $2::bigint[], $3::uuid[]) AS input (id, lease_seq, nonce)
    CROSS JOIN LATERAL (
        SELECT running.id
        FROM queuekit.running
        WHERE
            running.id = input.id
            AND running.lease_seq = input.lease_seq
            AND running.nonce = input.nonce
        FOR UPDATE SKIP LOCKED
    ) AS held
)
UPDATE queuekit.running
SET lease_expires_at = (SELECT queuekit.now_ms()) + $4::bigint
-- Not joined: the planner may compare every row with every lease.
WHERE running.id = ANY (ARRAY(SELECT lease.id FROM lease))
RETURNING running.id, running.cancel_requested
