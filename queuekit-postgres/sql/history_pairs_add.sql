-- Keeps the runs of more pairs of queue and kind apart, as long as they are fewer than the limit.
-- Parameters: a row per pair that is not kept apart: $1 queue, $2 kind; $3 now; $4 the limit.
-- Result: a row per pair that is now: queue, kind.
-- Index: history_pairs_pkey; to count none: the table has few rows.
-- Locks: the new rows. The caller holds the lock of pairs, so that they stay within the limit.
INSERT INTO queuekit.history_pairs (queue, kind, last)
SELECT input.queue, input.kind, $3::bigint
FROM unnest($1::text[], $2::text[]) AS input (queue, kind)
LIMIT greatest(0, $4::bigint - (SELECT count(*) FROM queuekit.history_pairs))
ON CONFLICT (queue, kind) DO UPDATE
SET last = greatest(history_pairs.last, excluded.last)
RETURNING history_pairs.queue, history_pairs.kind
