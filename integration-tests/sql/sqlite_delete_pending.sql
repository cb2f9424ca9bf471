-- Purpose: deletes every second pending job, as an operator might do by hand.
DELETE FROM queuekit_jobs WHERE state = 0 AND key % 2 = 0;
