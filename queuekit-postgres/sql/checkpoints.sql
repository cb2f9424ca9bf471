-- Reads the checkpoints of a job whose lease holds, in the order in which they were stored.
-- Parameters: $1 id; $2 lease_seq; $3 nonce; $4 the queue's name.
-- Result: now, name, at, result; one row with the name NULL if it has none. No row if the lease does
-- not hold.
-- Index: running_pkey, queues_name_key, checkpoints_pkey.
-- Locks: none.
SELECT queuekit.now_ms() AS now, stored.name, stored.at, stored.result
FROM queuekit.running
LEFT JOIN queuekit.checkpoints AS stored ON stored.job = running.id
WHERE
    running.id = $1::uuid AND running.lease_seq = $2::bigint AND running.nonce = $3::uuid
    -- IS TRUE keeps the planner from the index of a queue's leases by expiry.
    AND (running.queue = (SELECT id FROM queuekit.queues WHERE name = $4::text)) IS TRUE
ORDER BY stored.place
