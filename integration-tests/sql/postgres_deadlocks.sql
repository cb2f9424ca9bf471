-- Purpose: how many deadlocks the server has broken in this database.
-- Parameters: none.
SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()
