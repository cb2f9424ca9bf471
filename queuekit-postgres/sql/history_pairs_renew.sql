-- Says that pairs of queue and kind were added to.
-- Parameters: a row per pair: $1 queue, $2 kind; $3 now.
-- Result: none.
-- Index: history_pairs_pkey.
-- Locks: their rows, in the order of the input.
WITH held AS (
    SELECT history_pairs.ctid
    FROM queuekit.history_pairs
    JOIN unnest($1::text[], $2::text[]) AS input (queue, kind)
        ON history_pairs.queue = input.queue AND history_pairs.kind = input.kind
    ORDER BY history_pairs.queue, history_pairs.kind
    FOR UPDATE OF history_pairs
)
UPDATE queuekit.history_pairs
SET last = greatest(history_pairs.last, $3::bigint)
FROM held
WHERE history_pairs.ctid = held.ctid
