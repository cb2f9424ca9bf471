-- Keeps queues from being forgotten, where the transaction looks at the past and may see one that
-- was removed since. It fails with 40001 if one was forgotten already.
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
