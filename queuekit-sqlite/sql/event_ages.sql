-- Purpose: tells how old events are, in the order of the log, without their data.
-- Parameters: 1 the number they come after, 2 at most so many.
-- Result: number and time of each.
-- Index: the primary key.
-- Locks: runs inside a step.
SELECT seq, emitted_at FROM queuekit_events WHERE seq > ?1 ORDER BY seq LIMIT ?2;
