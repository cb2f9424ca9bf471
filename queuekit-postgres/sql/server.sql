-- What the server is, as far as it matters for what it keeps.
-- Parameters: none.
-- Result: version; whether it is in recovery; fsync; synchronous_commit; full_page_writes; whether
-- transactions that say nothing of it may write.
-- Index: none.
-- Locks: nothing.
SELECT
    current_setting('server_version_num')::int AS version,
    pg_is_in_recovery() AS in_recovery,
    current_setting('fsync') AS fsync,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('default_transaction_read_only') AS reads_only
