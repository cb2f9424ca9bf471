-- The workers that are listed, up to a number of bytes.
-- Parameters: $1 the id they come after, empty for all; $2 most workers; $3 most bytes.
-- Result: a row per worker, by id, with the ms since its last beat, and how many there are without
-- the bound of bytes.
-- Index: workers_pkey.
-- Locks: nothing.
SELECT
    first.id, first.name, first.queues, first.kinds, first.slots, first.running, first.ttl_ms,
    first.quiet_ms, first.about, first.order_seq, first.order_mode, first.order_slots, first.age_ms,
    first.looked_at
FROM (
    SELECT
        next.*,
        sum(next.bytes) OVER (ORDER BY next.id) AS total,
        count(*) OVER () AS looked_at
    FROM (
        SELECT
            workers.*,
            clock.now - workers.at AS age_ms,
            octet_length(workers.name) + octet_length(workers.queues)
                + octet_length(workers.kinds) + octet_length(workers.about) AS bytes
        FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
        CROSS JOIN queuekit.workers
        WHERE
            workers.id > $1::text
            AND clock.now - workers.at < 3 * workers.ttl_ms + workers.quiet_ms
        ORDER BY workers.id
        LIMIT $2::bigint
    ) AS next
) AS first
-- The first fits whatever its size.
WHERE first.total <= $3::bigint OR first.total = first.bytes
ORDER BY first.id
