-- Adds runs to the rows of the present time. Calls at once lock rows in one order.
-- Parameters: a row per resolution: $1 its number, $2 the beginning of its time; a row per queue
-- and kind: $3 queue, $4 kind; $5 the numbers of all, one after the other; $6 how many each has.
-- Result: none.
-- Index: history_runs_pkey.
-- Locks: the rows, until the transaction ends.
INSERT INTO queuekit.history_runs AS old (resolution, at, queue, kind, numbers)
SELECT
    part.resolution, part.at, input.queue, input.kind,
    ($5::bigint[])[(input.place - 1) * $6::int + 1 : input.place * $6::int]
FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS input (queue, kind, place)
CROSS JOIN unnest($1::smallint[], $2::bigint[]) AS part (resolution, at)
ORDER BY part.resolution, part.at, input.place
ON CONFLICT (resolution, at, queue, kind) DO UPDATE
SET numbers = ARRAY(
    SELECT coalesce(sum.old, 0) + coalesce(sum.added, 0)
    FROM unnest(old.numbers, excluded.numbers) WITH ORDINALITY AS sum (old, added, place)
    ORDER BY sum.place
)
