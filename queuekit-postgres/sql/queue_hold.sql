-- Keeps queues from being forgotten, for a transaction with an old snapshot, which may see a queue
-- that was removed since. Fails with 40001 if one was forgotten already.
-- Parameters: $1 ids.
-- Result: none that matters.
-- Index: queues_pkey.
-- Locks: the queues' rows, which only upkeep passes over; none in READ COMMITTED.
SELECT queues.id
FROM queuekit.queues
WHERE
    current_setting('transaction_isolation') <> 'read committed'
    AND queues.id = ANY ($1::int[])
ORDER BY queues.id
FOR KEY SHARE
