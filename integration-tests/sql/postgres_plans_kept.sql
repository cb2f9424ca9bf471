-- Purpose: no table of the store is vacuumed or analyzed by itself, so that plans stay as they are.
-- Parameters: none.
DO $$
DECLARE
    store_table regclass;
BEGIN
    FOR store_table IN
        SELECT class.oid
        FROM pg_class AS class
        WHERE class.relnamespace = 'queuekit'::regnamespace AND class.relkind = 'r'
    LOOP
        EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', store_table);
    END LOOP;
END
$$
