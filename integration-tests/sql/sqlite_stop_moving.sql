-- Purpose: makes a change of settings fail once it has placed a slice of this sort: PHASE stands for
-- the name of the sort.
CREATE TRIGGER stop_moving BEFORE UPDATE OF moving ON queuekit_queues
WHEN old.moving LIKE '%PHASE%'
BEGIN
    SELECT raise(ABORT, 'stopped for the test');
END;
