-- Purpose: the ids and the partition keys of jobs that a test stores by statements.
-- Parameters: none.
CREATE FUNCTION test_id(queue int, n int) RETURNS uuid
LANGUAGE sql IMMUTABLE
AS $$ SELECT format('00000000-0000-7000-800%s-%s', queue, lpad(to_hex(n), 12, '0'))::uuid $$;

CREATE FUNCTION test_ids(queue int, first int, last int) RETURNS uuid[]
LANGUAGE sql IMMUTABLE
AS $$ SELECT array_agg(test_id(queue, n) ORDER BY n) FROM generate_series(first, last) AS n $$;

CREATE FUNCTION test_lanes(keys int) RETURNS text[]
LANGUAGE sql IMMUTABLE
AS $$ SELECT array_agg('k' || n) FROM generate_series(0, keys - 1) AS n $$;
