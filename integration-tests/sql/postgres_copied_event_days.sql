-- Purpose: the same for the log of events, which came with version 4.
-- Parameters: none; the schema's name is put in.
SELECT queuekit.event_add_day(queuekit.now_ms() + 86400000 * day.n)
FROM generate_series(-1, 1) AS day (n)
