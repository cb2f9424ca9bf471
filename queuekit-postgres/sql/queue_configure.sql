-- Changes the settings of a queue.
-- Parameters: $1 queue; $2 the document of its settings; $3 whether it may hold jobs with partition
-- keys, or is fair; $4 when its pause ends.
-- Result: none.
-- Index: queues_pkey.
-- Locks: the queue's row.
UPDATE queuekit.queues
SET settings = $2::text::jsonb, keyed = queues.keyed OR $3::boolean,
    paused_until = $4::bigint
WHERE queues.id = $1::int
