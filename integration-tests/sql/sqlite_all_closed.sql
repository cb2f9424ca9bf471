-- Purpose: closes every job that waits.
UPDATE queuekit_jobs SET open = 0 WHERE state = 0;
