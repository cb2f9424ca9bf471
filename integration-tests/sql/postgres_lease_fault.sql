-- Purpose: lets reserves fail after a number of further ones, because the disk is full.
-- Parameters: none; the schema's name and the number are put in.
CREATE SEQUENCE queuekit.test_leases;

CREATE FUNCTION queuekit.test_lease_fault() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    -- A sequence keeps its value even if its transaction is rolled back.
    IF nextval('queuekit.test_leases') > {granted} THEN
        RAISE EXCEPTION 'a fault of the test' USING ERRCODE = 'disk_full';
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER test_lease_fault
AFTER INSERT ON queuekit.running
FOR EACH STATEMENT EXECUTE FUNCTION queuekit.test_lease_fault()
