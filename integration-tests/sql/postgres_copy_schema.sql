-- Purpose: gives the tables of one schema the rows of another one, which is newer, in the columns
-- that both have; and its sequences their values.
-- Parameters: none; the names of the schemas, {older} and {newer}, are put in.
DO $do$
DECLARE
    copied record;
BEGIN
    FOR copied IN
        SELECT mine.table_name, string_agg(quote_ident(mine.column_name), ', ') AS columns
        FROM information_schema.columns AS mine
        JOIN information_schema.columns AS theirs USING (table_name, column_name)
        JOIN pg_catalog.pg_class AS class
            ON class.oid = format('%I.%I', mine.table_schema, mine.table_name)::regclass
        WHERE
            mine.table_schema = '{older}' AND theirs.table_schema = '{newer}'
            AND mine.is_generated = 'NEVER'
            AND class.relkind IN ('r', 'p') AND NOT class.relispartition
            AND mine.table_name <> 'migrations'
        GROUP BY mine.table_name
    LOOP
        EXECUTE format('DELETE FROM {older}.%I', copied.table_name);
        EXECUTE format(
            'INSERT INTO {older}.%1$I (%2$s) OVERRIDING SYSTEM VALUE
             SELECT %2$s FROM {newer}.%1$I',
            copied.table_name, copied.columns);
    END LOOP;
    PERFORM setval(format('{older}.%I', mine.sequencename)::regclass, theirs.last_value)
    FROM pg_catalog.pg_sequences AS mine
    JOIN pg_catalog.pg_sequences AS theirs USING (sequencename)
    WHERE
        mine.schemaname = '{older}' AND theirs.schemaname = '{newer}'
        AND theirs.last_value IS NOT NULL;
END
$do$
