-- Purpose: the end of faults of reserves.
-- Parameters: none; the schema's name is put in.
DROP TRIGGER test_lease_fault ON queuekit.running;

DROP FUNCTION queuekit.test_lease_fault();

DROP SEQUENCE queuekit.test_leases
