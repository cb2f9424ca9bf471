-- Takes waiting jobs out of the reach of reserve.
-- Parameters: a column each, a row per job, sorted by id: $1 id; $2 queue; $3 rank; $4 when due;
-- $5 sequence.
-- Result: the ids of those that still waited. A reserve has taken the others.
-- Index: ready_order.
-- Locks: the rows it removes; it waits for the reserve that holds one.
DELETE FROM queuekit.ready
-- One look-up per job, as in unplace.sql.
WHERE ready.ctid = ANY (ARRAY(
    SELECT old.spot
    FROM unnest($1::uuid[], $2::int[], $3::smallint[], $4::bigint[], $5::bigint[])
        AS input (id, queue, rank, at, seq)
    CROSS JOIN LATERAL (
        SELECT ready.ctid AS spot
        FROM queuekit.ready
        WHERE
            ready.queue = input.queue
            AND ready.rank = input.rank
            AND ready.at = input.at
            AND ready.seq = input.seq
            AND ready.id = input.id
            AND ready.slot IS NULL
        OFFSET 0
    ) AS old
))
RETURNING ready.id
