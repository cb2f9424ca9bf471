-- Purpose: how many ids of events are remembered.
-- Parameters: none; the schema's name is put in.
SELECT count(*) AS ids
FROM queuekit.event_ids
