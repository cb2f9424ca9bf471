-- Lets go of the idempotency keys of jobs that have ended or are gone.
-- Parameters: a row each, sorted by queue and key: $1 queue by name; $2 key; $3 job; $4 for how
-- many ms it is still held, NULL if it is free at once.
-- Result: none.
-- Index: idempotency_pkey.
-- Locks: the keys; those who take the same ones wait.
WITH key AS MATERIALIZED (
    SELECT held.queue, held.key, input.window_ms
    FROM unnest($1::text[], $2::text[], $3::uuid[], $4::bigint[])
        AS input (queue, key, job, window_ms)
    JOIN queuekit.idempotency AS held
        ON held.queue = input.queue AND held.key = input.key AND held.job = input.job
    ORDER BY held.queue, held.key
    FOR UPDATE OF held
),
freed AS (
    DELETE FROM queuekit.idempotency
    USING key
    WHERE
        idempotency.queue = key.queue AND idempotency.key = key.key AND key.window_ms IS NULL
)
UPDATE queuekit.idempotency
SET free_at = queuekit.now_ms() + key.window_ms
FROM key
WHERE idempotency.queue = key.queue AND idempotency.key = key.key AND key.window_ms IS NOT NULL
