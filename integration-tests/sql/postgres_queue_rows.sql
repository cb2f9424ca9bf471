-- Purpose: how many queues there are, those that were removed included.
-- Parameters: none; the schema's name is put in.
SELECT count(*) FROM queuekit.queues
