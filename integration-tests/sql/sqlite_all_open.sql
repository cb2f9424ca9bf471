-- Purpose: opens every job that waits.
UPDATE queuekit_jobs SET open = 1 WHERE state = 0;
