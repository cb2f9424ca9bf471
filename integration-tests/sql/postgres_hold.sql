-- Purpose: a transaction that keeps vacuum from removing any row, until it ends.
-- Parameters: none.
BEGIN ISOLATION LEVEL REPEATABLE READ;

SELECT count(*) FROM pg_class
