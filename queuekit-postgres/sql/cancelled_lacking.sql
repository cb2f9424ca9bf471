-- Cancelled deliveries whose events have gone, with their payloads.
-- Parameters: $1 ids.
-- Result: the id of each.
-- Index: ended_pkey, jobs_pkey, events_pkey.
-- Locks: nothing.
SELECT ended.id
FROM queuekit.ended
JOIN queuekit.jobs ON jobs.id = ended.id
WHERE
    ended.id = ANY ($1::uuid[])
    AND jobs.event IS NOT NULL
    AND NOT EXISTS (SELECT FROM queuekit.events WHERE events.seq = jobs.event OFFSET 0)
