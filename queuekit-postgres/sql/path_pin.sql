-- Keeps the names in a step to those of the system, and notes by which names the application's
-- transaction goes. If the step is undone, so is this.
-- Parameters: none.
-- Result: none that matters.
-- Index: none.
-- Locks: nothing.
SELECT
    pg_catalog.set_config(
        'queuekit.search_path', pg_catalog.current_setting('search_path'), true
    ) AS noted,
    pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true) AS pinned
