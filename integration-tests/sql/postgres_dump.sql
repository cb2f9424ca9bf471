-- Purpose: creates a function that lists every row of every table of a schema, with the place of
-- the row, which any update moves, and every sequence.
-- Parameters: none.
CREATE OR REPLACE FUNCTION pg_temp.raw_dump(wanted text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT relname, relkind FROM pg_class
        WHERE
            relnamespace = wanted::regnamespace AND relkind IN ('r', 'S')
            -- The clock that the suite holds is none of the store's.
            AND relname <> 'test_clock'
        ORDER BY relname
    LOOP
        RETURN QUERY EXECUTE format(
            CASE found.relkind
                WHEN 'S' THEN 'SELECT concat_ws('' '', %L, last_value, is_called) FROM %I.%I'
                ELSE 'SELECT concat_ws('' '', %L, told.ctid, told) FROM %I.%I AS told'
            END,
            found.relname, wanted, found.relname
        );
    END LOOP;
END
$$
