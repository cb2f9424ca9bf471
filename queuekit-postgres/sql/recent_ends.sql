-- The newest ends of jobs of several queues, each of jobs in one state that ended before a place.
-- Parameters: a row per queue and state: $1 name of the queue; $2 state; $3 time, $4 sequence of the
-- place. $5 most of each.
-- Result: the number of the row in the call; id, time, sequence, in order.
-- Index: queues_name_key, dead_order, ended_order.
-- Locks: nothing.
SELECT asked.place, entry.id, entry.time, entry.seq
FROM
    unnest($1::text[], $2::smallint[], $3::bigint[], $4::bigint[])
    WITH ORDINALITY AS asked (name, state, time, seq, place)
INNER JOIN queuekit.queues ON queues.name = asked.name
CROSS JOIN LATERAL (
    (
        SELECT dead.id, dead.finished_at AS time, dead.seq
        FROM queuekit.dead
        WHERE
            asked.state = 3 AND dead.queue = queues.id
            AND (dead.finished_at, dead.seq) < (asked.time, asked.seq)
        ORDER BY dead.finished_at DESC, dead.seq DESC
        LIMIT $5::int
    )
    UNION ALL
    (
        SELECT ended.id, ended.finished_at, ended.seq
        FROM queuekit.ended
        WHERE
            asked.state <> 3 AND ended.queue = queues.id AND ended.state = asked.state
            AND (ended.finished_at, ended.seq) < (asked.time, asked.seq)
        ORDER BY ended.finished_at DESC, ended.seq DESC
        LIMIT $5::int
    )
) AS entry
ORDER BY asked.place, entry.time DESC, entry.seq DESC
