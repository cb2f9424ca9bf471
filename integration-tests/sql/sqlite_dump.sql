-- Purpose: every row of a table.
-- Parameters: none; the name of the table is put in.
SELECT * FROM the_table
