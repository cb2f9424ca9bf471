-- Stores progress and log lines of runs whose leases hold.
-- Parameters: a column each, a row per run: $1 id; $2 lease_seq; $3 nonce; $4 progress as a
-- fraction, or NULL; $5 message; $6 lines as a JSON array of texts. $7 most lines kept. $8 the
-- queue's name of each; if it is the same for all, one element is enough.
-- Result: the ids of those that were recorded.
-- Index: running_pkey, reports_pkey, queues_name_key.
-- Locks: the reports it writes, in the order of their ids.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now
)
INSERT INTO queuekit.reports AS old (job, fraction, message, lines)
SELECT
    held.id, input.fraction, input.message,
    (
        SELECT jsonb_agg(jsonb_build_object('at', clock.now, 'text', line.text) ORDER BY line.n)
        FROM jsonb_array_elements_text(input.lines::jsonb) WITH ORDINALITY AS line (text, n)
    )
FROM clock
CROSS JOIN unnest(
    $1::uuid[], $2::bigint[], $3::uuid[], $4::real[], $5::text[], $6::text[], $8::text[]
) AS input (id, lease_seq, nonce, fraction, message, lines, queue)
CROSS JOIN LATERAL (
    SELECT running.id
    FROM queuekit.running
    WHERE
        running.id = input.id
        AND running.lease_seq = input.lease_seq
        AND running.nonce = input.nonce
        -- An id ends in two bytes of the hash of its queue's name, which two queues may share, so
        -- the queue is compared too. IS TRUE keeps the planner from the index of a queue's leases
        -- by expiry: a plan made for an empty table would read all of them.
        AND (
            running.queue = CASE cardinality($8::text[])
                WHEN 1 THEN (SELECT id FROM queuekit.queues WHERE name = ($8::text[])[1])
                ELSE (SELECT id FROM queuekit.queues WHERE name = input.queue)
            END
        ) IS TRUE
    OFFSET 0
) AS held
ORDER BY held.id
ON CONFLICT (job) DO UPDATE
SET
    fraction = coalesce(excluded.fraction, old.fraction),
    message = CASE WHEN excluded.fraction IS NULL THEN old.message ELSE excluded.message END,
    lines = (
        SELECT jsonb_agg(kept.line ORDER BY kept.n)
        FROM (
            SELECT line.line, line.n
            FROM jsonb_array_elements(
                coalesce(old.lines, '[]') || coalesce(excluded.lines, '[]')
            ) WITH ORDINALITY AS line (line, n)
            ORDER BY line.n DESC
            LIMIT $7::int
        ) AS kept
    )
RETURNING old.job
