-- Purpose: a lock that every call of the store waits for.
-- Parameters: none; the schema's name is put in.
LOCK TABLE queuekit.jobs IN ACCESS EXCLUSIVE MODE
