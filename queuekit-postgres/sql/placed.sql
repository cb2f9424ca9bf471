-- How many jobs with partition keys may be leased now; keys on the agenda are not looked at.
-- Parameters: $1 queue.
-- Result: one number.
-- Index: ready_lane.
-- Locks: nothing.
SELECT count(*) AS jobs
FROM (SELECT queuekit.now_ms() AS now OFFSET 0) AS clock
JOIN queuekit.ready
    ON ready.queue = $1::int AND ready.slot IS NOT NULL AND ready.at <= clock.now
