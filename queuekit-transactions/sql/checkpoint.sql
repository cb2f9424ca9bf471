-- Stores the result of a step.
-- Parameters: $1 a text: a JSON object with a token, the step's name and its result.
-- Result: one text: a JSON array with the outcome.
-- Index, locks: those of the function.
-- It names what it calls in full, because it runs in transactions of applications.
SELECT
    pg_catalog.json_build_array(
        queuekit.checkpoint(
            given.step OPERATOR(pg_catalog.->>) 'token',
            given.step OPERATOR(pg_catalog.->>) 'name',
            pg_catalog.decode(given.step OPERATOR(pg_catalog.->>) 'result_base64', 'base64')
        )
    )::pg_catalog.text AS answer
FROM (SELECT $1::pg_catalog.text::pg_catalog.json AS step) AS given
