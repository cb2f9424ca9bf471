-- Purpose: finds ready jobs with a key that are not the head of their key.
-- Parameters: 1 queue, 2 how many.
-- Result: lane, seq.
-- Index: queuekit_ready_lane, covering; the primary key. It looks at every ready job with a key of
-- the queue, so it runs on readers only, and only for short queues.
SELECT ready.lane AS lane, ready.seq AS seq
FROM queuekit_ready AS ready INDEXED BY queuekit_ready_lane
LEFT JOIN queuekit_lanes AS lanes ON lanes.queue = ready.queue AND lanes.lane = ready.lane
WHERE ready.queue = ?1 AND ready.lane > '' AND lanes.head IS NOT ready.seq
LIMIT ?2;
