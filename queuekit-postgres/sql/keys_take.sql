-- Lets jobs hold idempotency keys that nobody else holds.
-- Parameters: a row each, sorted by queue and key: $1 queue by name; $2 key; $3 job.
-- Result: the jobs that hold theirs now.
-- Index: idempotency_pkey.
-- Locks: the keys; those who take the same ones wait.
INSERT INTO queuekit.idempotency AS held (queue, key, job)
SELECT input.queue, input.key, input.job
FROM unnest($1::text[], $2::text[], $3::uuid[]) AS input (queue, key, job)
ON CONFLICT (queue, key) DO UPDATE
SET job = excluded.job, free_at = NULL
WHERE held.job = excluded.job OR held.free_at <= queuekit.now_ms()
RETURNING held.job
