-- Lets the application's transaction go by its own names again.
-- Parameters: none.
-- Result: none that matters.
-- Index: none.
-- Locks: nothing.
SELECT pg_catalog.set_config(
    'search_path', pg_catalog.current_setting('queuekit.search_path'), true
) AS restored
