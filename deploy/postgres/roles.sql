-- Roles that can do one thing each with a queuekit schema. Run it as the schema's owner or as a
-- superuser, in the store's database, once the schema is there, and again after an upgrade:
--
--     psql -d shop -f roles.sql
--
-- Then make a member of the one that fits: CREATE ROLE shop LOGIN IN ROLE queuekit_enqueue;
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

-- Stores jobs by queuekit.enqueue(), which acts as its owner: it reads no job and makes no queue.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA queuekit TO queuekit_enqueue;

-- Enqueues, reserves and settles, with migrate=off. Days of history and of the log are made and
-- dropped by the owner, so one worker or server has to run as a member of it.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA queuekit TO queuekit_work;
REVOKE INSERT, UPDATE, DELETE ON queuekit.migrations FROM queuekit_work;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA queuekit TO queuekit_work;

-- Reads jobs and queues by the views, payloads included.
GRANT SELECT ON queuekit.job_list, queuekit.queue_list TO queuekit_look;
