-- Purpose: tells whose database this is.
-- Result: whether tables of this store are there; whether others are.
SELECT
    count(*) FILTER (WHERE name = 'queuekit_migrations') > 0,
    count(*) FILTER (WHERE name NOT LIKE 'queuekit\_%' ESCAPE '\') > 0
FROM sqlite_schema
WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\';
