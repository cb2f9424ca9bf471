-- Purpose: deletes the jobs that run, as an operator might do by hand.
DELETE FROM queuekit_jobs WHERE key IN (SELECT job FROM queuekit_running);
