-- When the next job of some queues becomes ready, their next lease runs out, or a pause ends.
-- Parameters: $1 queue names.
-- Result: one row: ms until then, 0 if something is due now; NULL if nothing waits or runs.
-- Index: queues_name_key, ready_order, running_expiry, agenda_order.
-- Locks: nothing.
SELECT greatest(min(event.at) - clock.now, 0) AS in_ms
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN LATERAL (
    SELECT found.at
    FROM queuekit.queues
    CROSS JOIN LATERAL (
        SELECT first.at
        FROM generate_series(-1, 31) AS level (rank)
        CROSS JOIN LATERAL (
            SELECT CASE WHEN level.rank = -1 THEN clock.now ELSE ready.at END AS at
            FROM queuekit.ready
            WHERE ready.queue = queues.id AND ready.rank = level.rank::smallint
            ORDER BY ready.at, ready.seq
            LIMIT 1
        ) AS first
        UNION ALL
        (
            SELECT running.lease_expires_at
            FROM queuekit.running
            WHERE running.queue = queues.id
            ORDER BY running.lease_expires_at
            LIMIT 1
        )
        UNION ALL
        (
            SELECT agenda.at
            FROM queuekit.agenda
            WHERE agenda.queue = queues.id
            ORDER BY agenda.at
            LIMIT 1
        )
    ) AS found
    WHERE queues.name = ANY ($1::text[]) AND queues.paused_until <= clock.now
    UNION ALL
    SELECT queues.paused_until
    FROM queuekit.queues
    WHERE
        queues.name = ANY ($1::text[])
        -- A pause without an end has the largest number.
        AND queues.paused_until > clock.now AND queues.paused_until < 9223372036854775807
) AS event
GROUP BY clock.now
