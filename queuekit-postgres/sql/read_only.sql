-- Whether a transaction that begins now may not write: on a standby, or as the server is set up.
-- Parameters: none.
-- Result: one boolean.
-- Index: none.
-- Locks: nothing.
SELECT current_setting('transaction_read_only') = 'on' AS is_read_only
