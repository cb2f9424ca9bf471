-- The most recent error groups of queues: those that were added up, plus the deltas that were not
-- yet.
-- Parameters: $1 queues, $2 most groups of each, $3 most groups in all.
-- Result: a row per group: queue, kind, signature, failures, deaths, first and last time, sample.
-- Index: error_groups_pkey, error_deltas_queue.
-- Locks: nothing.
WITH parts AS (
    SELECT
        error_groups.queue, error_groups.kind, error_groups.signature, error_groups.failures,
        error_groups.deaths, error_groups.first, error_groups.last, error_groups.sample,
        0::bigint AS id
    FROM queuekit.error_groups
    WHERE error_groups.queue = ANY ($1::int[])
    UNION ALL
    SELECT
        error_deltas.queue, error_deltas.kind, error_deltas.signature, error_deltas.failures,
        error_deltas.deaths, error_deltas.at, error_deltas.at, error_deltas.sample,
        error_deltas.id
    FROM queuekit.error_deltas
    WHERE error_deltas.queue = ANY ($1::int[])
),
summed AS (
    SELECT
        parts.queue, parts.kind, parts.signature, sum(parts.failures)::bigint AS failures,
        sum(parts.deaths)::bigint AS deaths, min(parts.first) AS first, max(parts.last) AS last,
        (array_agg(parts.sample ORDER BY parts.id DESC))[1] AS sample
    FROM parts
    GROUP BY parts.queue, parts.kind, parts.signature
),
ranked AS (
    SELECT
        summed.*,
        row_number() OVER (
            PARTITION BY summed.queue
            ORDER BY summed.last DESC, summed.kind DESC, summed.signature DESC
        ) AS place
    FROM summed
)
SELECT
    ranked.queue, ranked.kind, ranked.signature, ranked.failures, ranked.deaths, ranked.first,
    ranked.last, ranked.sample
FROM ranked
WHERE ranked.place <= $2::bigint
ORDER BY ranked.last DESC, ranked.queue, ranked.kind, ranked.signature
LIMIT $3::bigint
