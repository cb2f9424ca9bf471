-- Purpose: how many days history and the log of events have.
-- Parameters: none; the schema's name is put in.
SELECT count(*) AS days
FROM pg_inherits
WHERE
    pg_inherits.inhparent IN ('queuekit.done'::regclass, 'queuekit.events'::regclass)
