-- Purpose: tells whether the totals of a minute were recorded.
-- Parameters: 1 the minute.
-- Result: a row if they were, or those of a later minute.
-- Index: the primary key.
-- Locks: none.
SELECT 1 FROM queuekit_history_totals WHERE resolution = 1 AND at >= ?1 LIMIT 1;
