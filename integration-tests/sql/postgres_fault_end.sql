-- Purpose: the end of faults.
-- Parameters: none; the schema's name is put in.
DROP TRIGGER test_fault ON queuekit.jobs;

DROP FUNCTION queuekit.test_fault();

DROP SEQUENCE queuekit.test_faults
