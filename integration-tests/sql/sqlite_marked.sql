-- Purpose: counts the jobs that are marked as due, behind the heads of their keys.
-- Result: one number.
SELECT count(*) AS marked FROM queuekit_waiting WHERE due = 1;
