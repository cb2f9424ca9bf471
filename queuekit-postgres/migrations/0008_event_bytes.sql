-- queuekit, schema version 8: how many bytes a delivery has whose payload is with its event.
--
-- Purpose: a reserve ends before its leases have more bytes than an answer may have (contract
-- R8.9). Where another schema than `queuekit` was chosen, each `queuekit.` below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits.

-- Not SQL in the statements that reserve: each of them would open all days of the log, also where
-- no job is a delivery.
CREATE FUNCTION queuekit.event_bytes(place bigint) RETURNS integer
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT octet_length(events.data) FROM queuekit.events WHERE events.seq = place);
END;
$$;
