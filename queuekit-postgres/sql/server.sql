-- Properties of the server that decide whether it keeps what it accepts.
-- Parameters: none.
-- Result: version; whether it is in recovery; fsync; synchronous_commit; full_page_writes; whether
-- transactions are read-only by default; whether the role is a superuser.
-- Index: none.
-- Locks: nothing.
SELECT
    current_setting('server_version_num')::int AS version,
    pg_is_in_recovery() AS in_recovery,
    current_setting('fsync') AS fsync,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('default_transaction_read_only') AS reads_only,
    current_setting('is_superuser') AS superuser
