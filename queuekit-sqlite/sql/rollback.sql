-- Purpose: undoes a step.
-- Locks: releases the file's write lock.
ROLLBACK;
