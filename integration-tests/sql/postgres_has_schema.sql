-- Purpose: whether the store's schema is there.
-- Parameters: none.
SELECT to_regclass('queuekit.jobs') IS NOT NULL
