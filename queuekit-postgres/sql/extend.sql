-- Extends leases that hold, and that nobody is settling.
-- Parameters: a column each, a row per lease: $1 id; $2 lease_seq; $3 nonce. $4 ttl in ms. $5 the
-- queue's name of each; if it is the same for all, one element is enough.
-- Result: id and cancel_requested of those that were extended.
-- Index: running_pkey, queues_name_key.
-- Locks: the leases; passes over those that others hold.
WITH lease AS MATERIALIZED (
    SELECT held.id
    FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $5::text[])
        AS input (id, lease_seq, nonce, queue)
    CROSS JOIN LATERAL (
        SELECT running.id
        FROM queuekit.running
        WHERE
            running.id = input.id
            AND running.lease_seq = input.lease_seq
            AND running.nonce = input.nonce
            -- An id ends in two bytes of the hash of its queue's name, which two queues may share,
            -- so the queue is compared too. A queue that all leases share is looked up once.
            AND running.queue = CASE cardinality($5::text[])
                WHEN 1 THEN (SELECT id FROM queuekit.queues WHERE name = ($5::text[])[1])
                ELSE (SELECT id FROM queuekit.queues WHERE name = input.queue)
            END
        FOR UPDATE SKIP LOCKED
    ) AS held
)
UPDATE queuekit.running
SET lease_expires_at = (SELECT queuekit.now_ms()) + $4::bigint
-- Not joined: for a join the planner may compare every row with every lease.
WHERE running.id = ANY (ARRAY(SELECT lease.id FROM lease))
RETURNING running.id, running.cancel_requested
