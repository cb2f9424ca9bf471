-- Purpose: where waiting jobs are passed, finds the last job of a key that can get one of its free
-- leases. It looks at no more than 10,000 jobs whose time has come without a mark.
-- Parameters: 1 queue, 2 lane, 3 now, 4 how many leases are free.
-- Result: seq, or none if there are leases for all.
-- Index: queuekit_ready_lane; queuekit_waiting_due; queuekit_waiting_later.
SELECT seq FROM (
    SELECT seq FROM (
        SELECT seq FROM queuekit_ready
        WHERE queue = ?1 AND lane = ?2 AND at <= ?3
        ORDER BY seq LIMIT ?4
    )
    UNION ALL
    SELECT seq FROM (
        SELECT seq FROM queuekit_waiting INDEXED BY queuekit_waiting_due
        WHERE queue = ?1 AND lane = ?2 AND due = 1 AND at <= ?3
        ORDER BY seq LIMIT ?4
    )
    UNION ALL
    SELECT seq FROM (
        SELECT seq FROM queuekit_waiting
        WHERE queue = ?1 AND lane = ?2 AND due = 0 AND at <= ?3
        ORDER BY at, seq LIMIT 10000
    )
)
ORDER BY seq LIMIT 1 OFFSET ?4 - 1;
