-- Purpose: counts the queues, of which there are few.
-- Result: one number.
SELECT count(*) FROM queuekit_queues;
