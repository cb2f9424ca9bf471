-- Makes sure that queues exist, unless there would be too many.
-- Parameters: $1 names, sorted; $2 most queues in all.
-- Result: none.
-- Index: queues_name_key.
-- Locks: the names that are new; those who make the same queue wait.
WITH fresh AS MATERIALIZED (
    SELECT input.name
    FROM unnest($1::text[]) AS input (name)
    WHERE NOT EXISTS (
        SELECT
        FROM queuekit.queues
        WHERE queues.name = input.name AND queues.removed_by IS NULL
    )
)
INSERT INTO queuekit.queues (name)
SELECT fresh.name
FROM fresh
WHERE
    (SELECT count(*) FROM fresh)
    + (SELECT count(*) FROM queuekit.queues WHERE queues.removed_by IS NULL) <= $2::int
ON CONFLICT (name) DO UPDATE
SET removed_by = NULL, removal_seen = false
WHERE queues.removed_by IS NOT NULL
