-- Purpose: gates that block calls: the first blocks enqueues when they have read their queues,
-- before their jobs are stored; the second after it; the third blocks a change of a queue, when it
-- has read the queue's contents. A gate is closed while a session holds its lock.
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
