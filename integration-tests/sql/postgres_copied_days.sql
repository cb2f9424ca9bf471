-- Purpose: gives the history of a schema of an old version partitions for the rows it will get.
-- Parameters: none; the schema's name is put in.
SELECT queuekit.history_add_day(queuekit.now_ms() + 86400000 * day.n)
FROM generate_series(-1, 1) AS day (n)
