-- Forgets idempotency keys whose time is over.
-- Parameters: $1 most.
-- Result: a row per key.
-- Index: idempotency_freeing, idempotency_pkey.
-- Locks: the keys it removes; passes over those that others hold.
DELETE FROM queuekit.idempotency
WHERE (idempotency.queue, idempotency.key) IN (
    SELECT old.queue, old.key
    FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
    CROSS JOIN LATERAL (
        SELECT idempotency.queue, idempotency.key
        FROM queuekit.idempotency
        WHERE idempotency.free_at <= clock.now
        ORDER BY idempotency.free_at
        LIMIT $1::int
        FOR UPDATE SKIP LOCKED
    ) AS old
)
RETURNING 1 AS forgotten
