-- Purpose: how often the clock was asked, which each slice of a page does once, and how often a
-- queue's changes were looked up, as far as connections have told.
-- Parameters: none.
SELECT
    coalesce((
        SELECT sum(pg_stat_user_functions.calls)
        FROM pg_catalog.pg_stat_user_functions
        WHERE pg_stat_user_functions.funcname = 'now_ms'
    ), 0)::bigint AS slices,
    coalesce((
        SELECT sum(pg_stat_user_indexes.idx_scan)
        FROM pg_catalog.pg_stat_user_indexes
        WHERE pg_stat_user_indexes.indexrelname = 'deltas_queue'
    ), 0)::bigint AS queues
