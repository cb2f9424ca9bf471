-- Locks ended jobs before they are brought back or removed.
-- Parameters: $1 ids.
-- Result: none that matters.
-- Index: dead_pkey, ended_pkey.
-- Locks: the rows, the dead ones first, then the others, both in the order of ids; those who bring
-- them back or remove them wait.
WITH died AS MATERIALIZED (
    SELECT dead.id
    FROM queuekit.dead
    WHERE dead.id = ANY ($1::uuid[])
    ORDER BY dead.id
    FOR UPDATE
),
ended AS MATERIALIZED (
    SELECT ended.id
    FROM queuekit.ended
    WHERE ended.id = ANY ($1::uuid[])
    ORDER BY ended.id
    FOR UPDATE
)
SELECT (SELECT count(*) FROM died) + (SELECT count(*) FROM ended) AS locked
