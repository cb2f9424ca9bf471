-- Takes waiting jobs with partition keys out of the reach of reserve.
-- Parameters: a row per job: $1 id; $2 queue; $3 partition key.
-- Result: none.
-- Index: ready_lane.
-- Locks: the rows it removes. The caller holds the queues' locks.
DELETE FROM queuekit.ready
WHERE ready.ctid = ANY (ARRAY(
    SELECT old.spot
    FROM unnest($1::uuid[], $2::int[], $3::text[]) AS input (id, queue, lane)
    CROSS JOIN LATERAL (
        SELECT ready.ctid AS spot
        FROM queuekit.ready
        WHERE
            ready.queue = input.queue
            AND ready.lane = input.lane
            AND ready.slot IS NOT NULL
            AND ready.id = input.id
        OFFSET 0
    ) AS old
))
