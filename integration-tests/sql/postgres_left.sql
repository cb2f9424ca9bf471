-- Purpose: reads what a connection has kept from its earlier users.
-- Parameters: none.
SELECT name, setting
FROM pg_settings
WHERE
    name IN (
        'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout',
        'synchronous_commit', 'plan_cache_mode', 'enable_seqscan', 'jit'
    )
    AND setting <> boot_val
UNION ALL
SELECT 'prepared statement', statement FROM pg_prepared_statements WHERE name <> ''
