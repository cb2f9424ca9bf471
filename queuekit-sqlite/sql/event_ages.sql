-- Purpose: reads the ages of events, in the order of the log, without their data.
-- Parameters: 1 the number they come after, 2 how many at most.
-- Result: number and time of each.
-- Index: the primary key.
-- Locks: runs inside a step.
SELECT seq, emitted_at FROM queuekit_events WHERE seq > ?1 ORDER BY seq LIMIT ?2;
