-- Purpose: how many days the log of events has.
-- Parameters: none; the schema's name is put in.
SELECT count(*) AS days
FROM pg_inherits
WHERE pg_inherits.inhparent = 'queuekit.events'::regclass
