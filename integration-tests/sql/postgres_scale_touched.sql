-- Purpose: how many blocks of the store's tables and indexes this connection has touched, in
-- memory or on disk. What EXPLAIN says leaves out statements within a statement that nobody reads.
-- Parameters: none.
SELECT sum(pg_stat_get_xact_blocks_fetched(pg_class.oid))::float8
FROM pg_class
WHERE pg_class.relnamespace = 'queuekit'::regnamespace AND pg_class.relkind IN ('r', 'i')
