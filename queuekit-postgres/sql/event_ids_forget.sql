-- Forgets the first ids and idempotency keys of events of days that were dropped.
-- Parameters: $1 the place at which the log begins; $2 most.
-- Result: a row per id.
-- Index: event_ids_seq, event_ids_pkey.
-- Locks: the rows it removes; passes over those that others hold.
DELETE FROM queuekit.event_ids AS ids
WHERE ids.id = ANY (ARRAY(
    SELECT gone.id
    FROM queuekit.event_ids AS gone
    WHERE gone.seq < $1::bigint
    ORDER BY gone.seq
    LIMIT $2::int
    FOR UPDATE SKIP LOCKED
))
RETURNING ids.id
