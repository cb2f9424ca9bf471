-- Purpose: puts a clock for tests into a store's schema: it is fixed, or runs with the server's.
-- Parameters: none; the schema's name is put in.
CREATE TABLE queuekit.test_clock (stands_at bigint, ahead_by bigint NOT NULL);

INSERT INTO queuekit.test_clock (stands_at, ahead_by) VALUES (NULL, 0);

CREATE OR REPLACE FUNCTION queuekit.now_ms() RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
    SELECT
        coalesce(
            test_clock.stands_at, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
        ) + test_clock.ahead_by
    FROM queuekit.test_clock
$$;
