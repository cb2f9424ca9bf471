-- Purpose: drops the days that the store made when it was opened, which no job has ended in.
-- Parameters: none; the schema's name is put in.
DO $$
DECLARE
    day regclass;
BEGIN
    FOR day IN
        SELECT pg_inherits.inhrelid
        FROM pg_inherits
        WHERE pg_inherits.inhparent IN ('queuekit.done'::regclass, 'queuekit.events'::regclass)
    LOOP
        EXECUTE format('DROP TABLE %s', day);
    END LOOP;
END
$$;
