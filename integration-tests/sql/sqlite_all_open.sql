-- Purpose: makes every pending job ready.
INSERT INTO queuekit_ready (queue, rank, at, seq, job, lane)
SELECT queue, rank, at, seq, job, lane FROM queuekit_waiting;
DELETE FROM queuekit_waiting;
