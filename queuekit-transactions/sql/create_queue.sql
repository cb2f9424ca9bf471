-- Creates a queue if it does not exist.
-- Parameters: $1 a text: a JSON object with its name and whether it takes partition keys.
-- Result: one text, which is empty.
-- Index, locks: those of the function.
-- It names what it calls in full, because it runs in transactions of applications.
SELECT
    queuekit.create_queue(
        given.queue OPERATOR(pg_catalog.->>) 'name',
        (given.queue OPERATOR(pg_catalog.->>) 'keyed')::pg_catalog.bool
    )::pg_catalog.text AS answer
FROM (SELECT $1::pg_catalog.text::pg_catalog.json AS queue) AS given
