-- Purpose: finds the next queue by name.
-- Parameters: 1 the name of the last one, or an empty text to begin.
-- Result: a name, or none.
-- Index: the unique index on name, covering.
SELECT name FROM queuekit_queues WHERE name > ?1 ORDER BY name LIMIT 1;
