-- Purpose: makes statements about jobs of two kinds fail, as a damaged page would: one of the kind
-- `poison` cannot be stored, one of the kind `stays` cannot be removed.
CREATE TRIGGER refuse_insert BEFORE INSERT ON queuekit_jobs WHEN new.kind = 'poison'
BEGIN
    SELECT raise(ABORT, 'refused for the test');
END;
CREATE TRIGGER refuse_delete BEFORE DELETE ON queuekit_jobs WHEN old.kind = 'stays'
BEGIN
    SELECT raise(ABORT, 'refused for the test');
END;
