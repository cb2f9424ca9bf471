-- Purpose: finds out whether the database is the store's, another application's, or empty.
-- Result: whether there are tables of this store; whether there are others.
SELECT
    count(*) FILTER (WHERE name = 'queuekit_migrations') > 0 AS own,
    count(*) FILTER (WHERE name NOT LIKE 'queuekit\_%' ESCAPE '\') > 0 AS other
FROM sqlite_schema
WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\';
