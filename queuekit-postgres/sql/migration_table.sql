-- Whether the table of migrations is there.
-- Parameters: none.
-- Result: one boolean.
-- Index: none.
-- Locks: nothing.
SELECT to_regclass('queuekit.migrations') IS NOT NULL AS is_there
