-- Purpose: how many rows the application has.
-- Parameters: none.
SELECT count(*) FROM orders
