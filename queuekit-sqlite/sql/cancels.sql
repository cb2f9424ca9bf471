-- Purpose: finds running jobs that were asked to stop.
-- Parameters: 1 most.
-- Result: for each its key, the number of its lease, and the name of its queue.
-- Index: queuekit_runs_cancels; the primary keys of the claims and of the queues.
SELECT runs.job AS key, claims.lease_seq AS lease_seq, queues.name AS queue
FROM queuekit_runs AS runs INDEXED BY queuekit_runs_cancels
CROSS JOIN queuekit_claims AS claims ON claims.claim = runs.claim
CROSS JOIN queuekit_queues AS queues ON queues.id = runs.queue
WHERE runs.cancel_requested = 1
LIMIT ?1;
