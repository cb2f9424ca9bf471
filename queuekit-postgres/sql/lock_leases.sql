-- Locks leases before they are settled.
-- Parameters: $1 ids.
-- Result: none that matters.
-- Index: running_pkey.
-- Locks: the leases, in the order of their ids; those who settle them wait.
SELECT 1 AS locked
FROM queuekit.running
WHERE running.id = ANY ($1::uuid[])
ORDER BY running.id
FOR UPDATE
