-- Purpose: ends a step; at synchronous=FULL it is on disk when this returns.
-- Locks: releases the file's write lock.
COMMIT;
