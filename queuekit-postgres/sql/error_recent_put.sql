-- Writes what is recent in error groups, after some were added to.
-- Parameters: a row per group: $1 queue, $2 kind, $3 signature, $4 what is recent.
-- Result: none.
-- Index: error_groups_pkey.
-- Locks: the rows of groups. The caller holds the lock of folding.
UPDATE queuekit.error_groups
SET recent = input.recent
FROM unnest($1::int[], $2::text[], $3::text[], $4::text[])
    AS input (queue, kind, signature, recent)
WHERE
    error_groups.queue = input.queue AND error_groups.kind = input.kind
    AND error_groups.signature = input.signature
