-- Stores progress and log lines of a run, if its lease holds.
-- Parameters: $1 id; $2 lease_seq; $3 nonce; $4 progress as a fraction, or NULL; $5 message; $6
-- lines as a JSON array of texts; $7 most lines kept; $8 the queue's name.
-- Result: the id, if it was recorded.
-- Index: running_pkey, reports_pkey, queues_name_key.
-- Locks: the reports it writes.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now
)
INSERT INTO queuekit.reports AS old (job, fraction, message, lines)
SELECT
    running.id, input.fraction, input.message,
    (
        SELECT jsonb_agg(jsonb_build_object('at', clock.now, 'text', line.text) ORDER BY line.n)
        FROM jsonb_array_elements_text(input.lines::jsonb) WITH ORDINALITY AS line (text, n)
    )
FROM clock
CROSS JOIN (
    SELECT
        $1::uuid AS id, $2::bigint AS lease_seq, $3::uuid AS nonce, $4::real AS fraction,
        $5::text AS message, $6::text AS lines
) AS input
JOIN queuekit.running
    ON running.id = input.id
    AND running.lease_seq = input.lease_seq
    AND running.nonce = input.nonce
    -- An id ends in two bytes of the hash of its queue's name, which two queues may share, so the
    -- queue is compared too. IS TRUE keeps the planner from the index of a queue's leases by
    -- expiry: a plan made for an empty table would read all of them.
    AND (running.queue = (SELECT id FROM queuekit.queues WHERE name = $8::text)) IS TRUE
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
