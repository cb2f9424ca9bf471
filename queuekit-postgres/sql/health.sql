-- What the store's tables and the server are at.
-- Parameters: none.
-- Result: one row: bytes of all tables and indexes; dead rows; for how many seconds the oldest
-- transaction is open, NULL if this role may not see it; days of history; deltas to fold.
-- Index: none.
-- Locks: nothing.
SELECT
    coalesce((
        SELECT sum(pg_total_relation_size(class.oid))
        FROM pg_class AS class
        JOIN pg_namespace AS space ON space.oid = class.relnamespace
        WHERE space.nspname = 'queuekit' AND class.relkind = 'r'
    ), 0)::bigint AS bytes,
    coalesce((
        SELECT sum(pg_stat_get_dead_tuples(class.oid))
        FROM pg_class AS class
        JOIN pg_namespace AS space ON space.oid = class.relnamespace
        WHERE space.nspname = 'queuekit' AND class.relkind = 'r'
    ), 0)::bigint AS dead_rows,
    CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE') THEN coalesce((
        SELECT floor(extract(epoch FROM max(clock_timestamp() - activity.xact_start)))
        FROM pg_stat_activity AS activity
        WHERE activity.backend_xmin IS NOT NULL AND activity.datname = current_database()
    ), 0)::bigint END AS oldest_s,
    (
        SELECT count(*)
        FROM pg_inherits AS inherits
        WHERE inherits.inhparent = 'queuekit.done'::regclass
    ) AS days,
    (SELECT count(*) FROM queuekit.deltas) AS deltas
