-- The id of the server process that serves the connection.
-- Parameters: none.
-- Result: one number.
-- Index: none.
-- Locks: nothing.
SELECT pg_backend_pid() AS pid
