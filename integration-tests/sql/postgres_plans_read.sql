-- Purpose: how many entries of the store's indexes were read, as far as connections have told.
-- Parameters: none.
SELECT sum(idx_tup_read)::bigint
FROM pg_stat_user_indexes
WHERE schemaname = 'queuekit'
