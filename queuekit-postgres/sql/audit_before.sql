-- Entries of the audit log, newest first.
-- Parameters: $1 the number they are before, NULL for the newest; $2 most entries.
-- Result: number, time, act.
-- Index: audit_pkey.
-- Locks: nothing.
SELECT audit.seq, audit.at, audit.act
FROM queuekit.audit
WHERE audit.seq < coalesce($1::bigint, 9223372036854775807)
ORDER BY audit.seq DESC
LIMIT $2::bigint
