-- Purpose: drops the days that the store made when it was opened, in which nothing was emitted.
-- Parameters: none; the schema's name is put in.
DO $$
DECLARE
    day regclass;
BEGIN
    FOR day IN
        SELECT pg_inherits.inhrelid
        FROM pg_inherits
        WHERE pg_inherits.inhparent = 'queuekit.events'::regclass
    LOOP
        EXECUTE format('DROP TABLE %s', day);
    END LOOP;
END
$$;
