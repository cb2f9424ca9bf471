-- Asks runs to stop.
-- Parameters: $1 ids.
-- Result: none.
-- Index: running_pkey.
-- Locks: the leases, which the caller has locked.
UPDATE queuekit.running
SET cancel_requested = true
WHERE running.id = ANY ($1::uuid[])
