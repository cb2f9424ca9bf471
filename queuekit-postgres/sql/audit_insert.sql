-- Adds an entry to the audit log, and removes the oldest.
-- Parameters: $1 the act, as JSON; $2 how many are kept.
-- Result: none.
-- Index: audit_pkey.
-- Locks: the rows that it removes. Of two calls at once, each may leave the row that the other
-- would have removed to the next call.
WITH added AS (
    INSERT INTO queuekit.audit (at, act)
    VALUES (queuekit.now_ms(), $1::text)
    RETURNING audit.seq
)
DELETE FROM queuekit.audit
WHERE audit.seq <= (SELECT added.seq FROM added) - $2::bigint
