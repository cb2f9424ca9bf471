-- Locks leases that ran out, earliest first.
-- Parameters: $1 queues by name; $2 most leases of each; $3 for each, the time after which leases
-- may have run out.
-- Result: now, their ids; at least one row.
-- Index: queues_name_key, running_expiry.
-- Locks: the leases; skips those that another call settles.
SELECT clock.now, overdue.id
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
LEFT JOIN LATERAL (
    SELECT asked.place, lease.*
    FROM unnest($1::text[], $3::bigint[]) WITH ORDINALITY AS asked (name, after, place)
    JOIN queuekit.queues ON queues.name = asked.name AND queues.paused_until <= clock.now
    CROSS JOIN LATERAL (
        SELECT running.id, running.lease_expires_at, running.seq
        FROM queuekit.running
        WHERE
            running.queue = queues.id AND running.lease_expires_at <= clock.now
            AND running.lease_expires_at > asked.after
        ORDER BY running.lease_expires_at
        LIMIT $2::int
        FOR UPDATE SKIP LOCKED
    ) AS lease
) AS overdue ON true
ORDER BY overdue.place, overdue.lease_expires_at, overdue.seq
