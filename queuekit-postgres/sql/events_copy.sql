-- Copies the data of events that will be removed into their deliveries that wait or run.
-- Parameters: $1 the first place, $2 the one behind the last; $3 most.
-- Result: a row per delivery.
-- Index: jobs_event, jobs_pkey, events_pkey.
-- Locks: the deliveries; passes over those that others hold.
UPDATE queuekit.jobs
SET payload = events.data, event = NULL
FROM queuekit.events
WHERE
    jobs.id = ANY (ARRAY(
        SELECT open.id
        FROM queuekit.jobs AS open
        WHERE open.event >= $1::bigint AND open.event < $2::bigint AND open.indexed
        ORDER BY open.event
        LIMIT $3::bigint
        FOR NO KEY UPDATE SKIP LOCKED
    ))
    AND events.seq = jobs.event
RETURNING jobs.id
