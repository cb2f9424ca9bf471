-- Stores events, with their deliveries.
-- Parameters: $1 a text: a JSON array of events.
-- Result: one text: a JSON array with the outcome and the id of each event, in order.
-- Index, locks: those of the function.
-- It names what it calls in full, because it runs in transactions of applications.
SELECT
    coalesce(
        pg_catalog.json_agg(
            pg_catalog.json_build_object('outcome', stored.outcome, 'id', stored.id)
            ORDER BY stored.place USING OPERATOR(pg_catalog.<)
        )::pg_catalog.text,
        '[]'
    ) AS answer
FROM queuekit.emit($1::pg_catalog.text::pg_catalog.json) AS stored
