-- How many schedules there are.
-- Parameters: none.
-- Result: their number.
-- Index: none: there are at most 10,000.
-- Locks: nothing.
SELECT count(*) AS schedules FROM queuekit.schedules
