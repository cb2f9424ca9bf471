-- Purpose: counts an application's own rows.
-- Result: one number.
SELECT count(*) FROM orders;
