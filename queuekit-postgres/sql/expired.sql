-- Locks leases that ran out, earliest first.
-- Parameters: $1 queues by name; $2 at most so many of each; $3 the time after which leases may
-- have run out.
-- Result: their ids.
-- Index: queues_name_key, running_expiry.
-- Locks: the leases; passes over those that somebody settles.
SELECT lease.id
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
CROSS JOIN unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
JOIN queuekit.queues ON queues.name = asked.name AND NOT queues.paused
CROSS JOIN LATERAL (
    SELECT running.id, running.lease_expires_at, running.seq
    FROM queuekit.running
    WHERE
        running.queue = queues.id AND running.lease_expires_at <= clock.now
        AND running.lease_expires_at > $3::bigint
    ORDER BY running.lease_expires_at, running.seq
    LIMIT $2::int
    FOR UPDATE SKIP LOCKED
) AS lease
ORDER BY asked.place, lease.lease_expires_at, lease.seq
