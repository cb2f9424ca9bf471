-- Purpose: lets no job be ready that has a partition key: all wait behind a head that is missing.
INSERT INTO queuekit_waiting (queue, lane, seq, at, rank, due, job)
SELECT
    ready.queue, ready.lane, ready.seq, ready.at, ready.rank,
    (SELECT max(due) FROM queuekit_waiting AS others WHERE others.queue = ready.queue), ready.job
FROM queuekit_ready AS ready
WHERE ready.lane > '';
DELETE FROM queuekit_ready WHERE lane > '';
