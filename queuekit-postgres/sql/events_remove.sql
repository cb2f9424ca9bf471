-- Removes events with their ids and idempotency keys, except those that deliveries still need.
-- Parameters: $1 places.
-- Result: a row per event.
-- Index: jobs_event, event_ids_seq, events_pkey.
-- Locks: the rows it removes. The caller has locked the events, and copied the data that deliveries
-- need.
WITH gone AS (
    DELETE FROM queuekit.events
    WHERE
        events.seq = ANY ($1::bigint[])
        AND NOT EXISTS (SELECT FROM queuekit.jobs WHERE jobs.event = events.seq AND jobs.indexed)
    RETURNING events.seq
),
forgotten AS (
    DELETE FROM queuekit.event_ids AS ids
    WHERE ids.seq = ANY (ARRAY(SELECT gone.seq FROM gone))
)
SELECT gone.seq FROM gone
