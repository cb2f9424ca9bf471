-- Purpose: shows whether another connection has changed the file since the last query.
-- Result: a number that differs if so.
PRAGMA data_version;
