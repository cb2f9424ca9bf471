-- Purpose: forgets where the pending jobs stand.
DELETE FROM queuekit_ready;
DELETE FROM queuekit_waiting;
