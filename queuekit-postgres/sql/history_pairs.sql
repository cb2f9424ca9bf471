-- Finds the pairs of queue and kind whose runs are kept apart.
-- Parameters: a row per pair: $1 queue, $2 kind.
-- Result: a row per pair that is: queue, kind, last added to.
-- Index: history_pairs_pkey.
-- Locks: nothing.
SELECT history_pairs.queue, history_pairs.kind, history_pairs.last
FROM unnest($1::text[], $2::text[]) AS input (queue, kind)
JOIN queuekit.history_pairs
    ON history_pairs.queue = input.queue AND history_pairs.kind = input.kind
