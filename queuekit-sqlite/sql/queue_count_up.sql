-- Purpose: writes a queue's counters, once at the end of a step that changed its jobs.
-- Parameters: 1 id, 2 to 6 jobs by state, 7 to 9 sizes, 10 last_seq, 11 last_end_seq,
-- 12 last_turn, 13 corrupt, 14 the ring of ends, or NULL where nothing ended, 15 to 17 how
-- many have completed, died and been cancelled so far, 18 how many attempts have failed, 19 how many
-- jobs were removed.
-- Index: the primary key.
-- Locks: runs inside a step.
UPDATE queuekit_queues SET
    pending = ?2, running = ?3, completed = ?4, dead = ?5, cancelled = ?6,
    completed_size = ?7, dead_size = ?8, cancelled_size = ?9,
    last_seq = ?10, last_end_seq = ?11, last_turn = ?12, corrupt = ?13,
    last_ended = coalesce(?14, last_ended), total_completed = ?15, total_dead = ?16,
    total_cancelled = ?17, total_failed = ?18, total_removed = ?19
WHERE id = ?1;
