-- Purpose: gates in the way of enqueues: the first before their jobs are stored, when they have
-- seen their queues; the second after it. A gate is closed while somebody holds its lock.
-- Parameters: none; the schema's name is put in.
CREATE FUNCTION queuekit.test_gate() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(77, tg_argv[0]::int);
    RETURN NULL;
END
$$;

CREATE TRIGGER test_gate_before
BEFORE INSERT ON queuekit.jobs
FOR EACH STATEMENT EXECUTE FUNCTION queuekit.test_gate('1');

CREATE TRIGGER test_gate_after
AFTER INSERT ON queuekit.jobs
FOR EACH STATEMENT EXECUTE FUNCTION queuekit.test_gate('2')
