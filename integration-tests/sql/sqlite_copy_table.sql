-- Purpose: gives a table of an older store the rows of a newer one, in the columns that both have.
-- The_table and the_columns stand for names.
DELETE FROM main.the_table;
INSERT INTO main.the_table (the_columns) SELECT the_columns FROM newer.the_table;
