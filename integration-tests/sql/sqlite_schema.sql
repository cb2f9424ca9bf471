-- Purpose: lists what stands in a file.
-- Result: a text per table, index, view and trigger.
SELECT printf('%s %s: %s', type, name, sql) FROM sqlite_schema ORDER BY type, name;
