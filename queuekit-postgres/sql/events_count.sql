-- How many events a part of the log has.
-- Parameters: $1 the first place, $2 the one behind the last.
-- Result: one number.
-- Index: events_pkey.
-- Locks: nothing.
SELECT count(*) AS events
FROM queuekit.events
WHERE events.seq >= $1::bigint AND events.seq < $2::bigint
