-- Purpose: tells whether another connection has changed the file since this was last asked.
-- Result: a number that differs then.
PRAGMA data_version;
