-- Purpose: counts the ready jobs of one priority up to a place.
-- Parameters: 1 queue, 2 rank, 3 scheduled_at and 4 seq of the place, 5 how many at most.
-- Result: one number.
-- Index: the primary key.
SELECT count(*) FROM (
    SELECT 1 FROM queuekit_ready
    WHERE queue = ?1 AND rank = ?2 AND (at, seq) <= (?3, ?4)
    LIMIT ?5
);
