-- Completes jobs.
-- Parameters: $1 a text: a JSON array of tokens and results, in the order in which leases are taken.
-- Result: one text: a JSON array with the outcome of each ack, in order.
-- Index, locks: those of the function.
-- It names what it calls in full, because it runs in transactions of applications.
SELECT
    coalesce(
        pg_catalog.json_agg(
            settled.outcome ORDER BY settled.place USING OPERATOR(pg_catalog.<)
        )::pg_catalog.text,
        '[]'
    ) AS answer
FROM (
    SELECT
        given.place,
        queuekit.ack(
            given.ack OPERATOR(pg_catalog.->>) 'token',
            pg_catalog.decode(given.ack OPERATOR(pg_catalog.->>) 'result_base64', 'base64')
        ) AS outcome
    FROM pg_catalog.json_array_elements($1::pg_catalog.text::pg_catalog.json)
        WITH ORDINALITY AS given (ack, place)
    OFFSET 0
) AS settled
