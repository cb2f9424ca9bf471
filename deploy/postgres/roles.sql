-- Creates three roles, each with one set of rights on a queuekit schema. Run it in the store's
-- database, once the schema exists and after each upgrade, as a superuser, or as the schema's owner
-- if that role may create roles (CREATEROLE) or the three exist already:
--
--     psql -v ON_ERROR_STOP=1 -d shop -f roles.sql
--
-- Then create your programs' roles as members: CREATE ROLE shop LOGIN IN ROLE queuekit_enqueue;
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['queuekit_enqueue', 'queuekit_work', 'queuekit_look'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE pg_roles.rolname = name) THEN
            EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA queuekit TO queuekit_enqueue, queuekit_work, queuekit_look;

-- May store jobs and events with queuekit.enqueue(), enqueue_many() and emit(), which run as their
-- owner. It cannot read a job or create a queue of its choice; ack() and checkpoint() only serve
-- callers that have a lease.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA queuekit TO queuekit_enqueue, queuekit_work;

-- May enqueue, reserve and settle jobs, with migrate=off. Only the owner can create and drop the
-- days of history and of the event log, so run at least one worker or server as a member of the
-- owner. It removes the oldest entries of the audit log, but changes none.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA queuekit TO queuekit_work;
REVOKE INSERT, UPDATE, DELETE ON queuekit.migrations FROM queuekit_work;
REVOKE UPDATE ON queuekit.audit FROM queuekit_work;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA queuekit TO queuekit_work;

-- May read jobs and queues through the views, payloads included.
GRANT SELECT ON queuekit.job_list, queuekit.queue_list TO queuekit_look;
