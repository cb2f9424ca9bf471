-- The state of the store's tables and of the server.
-- Parameters: none.
-- Result: one row: bytes of all tables and indexes; dead rows; for how many seconds the oldest
-- transaction is open, NULL if this role may not see it; days of the log of events; deltas to fold; for how
-- many seconds the oldest prepared transaction is open; replication slots that nobody reads; how
-- full the queue of notifications is, in percent; partitions of today and tomorrow that are
-- missing.
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
        WHERE
            activity.datname = current_database()
            -- A transaction that has written and is idle has no snapshot, but its id holds vacuum
            -- back too.
            AND (activity.backend_xmin IS NOT NULL OR activity.backend_xid IS NOT NULL)
    ), 0)::bigint END AS oldest_s,
    (
        SELECT count(*)
        FROM pg_inherits AS inherits
        WHERE inherits.inhparent = 'queuekit.events'::regclass
    ) AS days,
    (SELECT count(*) FROM queuekit.deltas) AS deltas,
    coalesce((
        SELECT floor(extract(epoch FROM max(clock_timestamp() - prepared.prepared)))
        FROM pg_prepared_xacts AS prepared
        WHERE prepared.database = current_database()
    ), 0)::bigint AS prepared_s,
    (
        SELECT count(*)
        FROM pg_replication_slots AS slot
        WHERE NOT slot.active AND coalesce(slot.database, current_database()) = current_database()
    ) AS idle_slots,
    ceil(pg_notification_queue_usage() * 100)::bigint AS notices_percent,
    (
        SELECT count(*)
        FROM (
            SELECT (to_timestamp(queuekit.now_ms() / 1000) AT TIME ZONE 'UTC')::date AS today
            OFFSET 0
        ) AS clock
        CROSS JOIN generate_series(0, 1) AS day (n)
        LEFT JOIN pg_namespace AS space ON space.nspname = 'queuekit'
        LEFT JOIN pg_class AS class
            ON class.relnamespace = space.oid
            AND class.relname = 'events' || to_char(clock.today + day.n, '_YYYYMMDD')
        WHERE class.oid IS NULL
    ) AS missing_days
