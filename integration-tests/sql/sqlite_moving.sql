-- Purpose: how far the keys of the queue `default` are placed anew.
-- Result: moving; NULL if they all are.
SELECT moving FROM queuekit_queues WHERE name = 'default';
