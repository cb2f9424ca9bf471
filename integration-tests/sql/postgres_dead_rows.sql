-- Purpose: leaves dead rows where reserves look, and tells the statistics at once.
-- Parameters: none; the schema's name is put in.
INSERT INTO queuekit.ready (id, at, seq, queue, rank)
SELECT gen_random_uuid(), 0, n, -1, 0
FROM generate_series(1, 4000) AS n;

DELETE FROM queuekit.ready WHERE ready.queue = -1;

SELECT pg_stat_force_next_flush()
