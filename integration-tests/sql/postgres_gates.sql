-- Purpose: gates: the first in the way of enqueues, before their jobs are stored, when they have
-- seen their queues; the second after it; the third in the way of who changes a queue, when it has
-- seen what is in it. A gate is closed while somebody holds its lock.
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
FOR EACH STATEMENT EXECUTE FUNCTION queuekit.test_gate('2');

CREATE TRIGGER test_gate_change
BEFORE UPDATE ON queuekit.queues
FOR EACH STATEMENT EXECUTE FUNCTION queuekit.test_gate('3')
