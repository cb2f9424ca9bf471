-- Removes old rows. Rows that another process removes are left to it.
-- Parameters: a row per resolution: $1 its number, $2 its rows begin before; $3 how many at most.
-- Result: one row: how many were removed.
-- Index: history_totals_pkey.
-- Locks: the rows that it removes.
WITH removed AS (
    DELETE FROM queuekit.history_totals
    WHERE history_totals.ctid = ANY (ARRAY(
        SELECT part.ctid
        FROM unnest($1::smallint[], $2::bigint[]) AS old (resolution, at)
        JOIN queuekit.history_totals AS part
            ON part.resolution = old.resolution AND part.at < old.at
        LIMIT $3::bigint
        FOR UPDATE OF part SKIP LOCKED
    ))
    RETURNING 1
)
SELECT count(*) AS removed
FROM removed
