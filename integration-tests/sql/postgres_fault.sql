-- Purpose: lets a number of the next enqueues fail with an SQLSTATE, after some seconds.
-- Parameters: none; the schema's name, the state, the number and the seconds are put in.
CREATE SEQUENCE queuekit.test_faults;

CREATE FUNCTION queuekit.test_fault() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    -- A sequence keeps its value even if its transaction is rolled back.
    IF nextval('queuekit.test_faults') <= {times} THEN
        PERFORM pg_sleep({seconds});
        RAISE EXCEPTION 'a fault of the test' USING ERRCODE = '{state}';
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER test_fault
AFTER INSERT ON queuekit.jobs
FOR EACH STATEMENT EXECUTE FUNCTION queuekit.test_fault()
