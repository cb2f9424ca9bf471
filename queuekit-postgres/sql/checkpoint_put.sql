-- Stores the result of a step of a job whose lease holds.
-- Parameters: $1 id; $2 lease_seq; $3 nonce; $4 the queue's name; $5 the step's name; $6 the result;
-- $7 most checkpoints of a job; $8 most bytes of their results.
-- Result: what the job had before: count, bytes, and same: whether the result of this name is this
-- one; NULL if there was none. No row if the lease does not hold.
-- Index: running_pkey, queues_name_key, checkpoints_pkey.
-- Locks: the lease.
SELECT had.count, had.bytes, had.same
FROM queuekit.put_checkpoint(
    $1::uuid, $2::bigint, $3::uuid, $4::text, $5::text, $6::bytea, $7::bigint, $8::bigint
) AS had
