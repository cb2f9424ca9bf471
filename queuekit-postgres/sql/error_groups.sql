-- The most recent error groups of queues: those that were added up, plus the deltas that were not
-- yet.
-- Parameters: $1 queues, $2 most groups of each, $3 most groups in all.
-- Result: a row per group: queue, kind, signature, failures, deaths, first and last time, sample; what
-- was recent when it was added up, and its last time then; errors since by hour, with a time of each
-- hour; the present time.
-- Index: error_groups_pkey, error_deltas_queue.
-- Locks: nothing.
WITH parts AS (
    SELECT
        error_groups.queue, error_groups.kind, error_groups.signature, error_groups.failures,
        error_groups.deaths, error_groups.first, error_groups.last, error_groups.sample,
        0::bigint AS id, error_groups.recent, 0::bigint AS errors
    FROM queuekit.error_groups
    WHERE error_groups.queue = ANY ($1::int[])
    UNION ALL
    SELECT
        error_deltas.queue, error_deltas.kind, error_deltas.signature,
        sum(error_deltas.failures), sum(error_deltas.deaths), min(error_deltas.at),
        max(error_deltas.at), (array_agg(error_deltas.sample ORDER BY error_deltas.id DESC))[1],
        max(error_deltas.id), NULL, sum(error_deltas.errors)
    FROM queuekit.error_deltas
    WHERE error_deltas.queue = ANY ($1::int[])
    GROUP BY
        error_deltas.queue, error_deltas.kind, error_deltas.signature, error_deltas.at / 3600000
),
summed AS (
    SELECT
        parts.queue, parts.kind, parts.signature, sum(parts.failures)::bigint AS failures,
        sum(parts.deaths)::bigint AS deaths, min(parts.first) AS first, max(parts.last) AS last,
        (array_agg(parts.sample ORDER BY parts.id DESC))[1] AS sample,
        coalesce(max(parts.recent), '') AS recent,
        coalesce(max(parts.last) FILTER (WHERE parts.id = 0), 0) AS added_up,
        coalesce(array_agg(parts.errors) FILTER (WHERE parts.id > 0), '{}') AS errors,
        coalesce(array_agg(parts.last) FILTER (WHERE parts.id > 0), '{}') AS times
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
    ranked.last, ranked.sample, ranked.recent, ranked.added_up, ranked.errors, ranked.times,
    (SELECT queuekit.now_ms()) AS now
FROM ranked
WHERE ranked.place <= $2::bigint
ORDER BY ranked.last DESC, ranked.queue, ranked.kind, ranked.signature
LIMIT $3::bigint
