-- Purpose: traps: functions and operators that match calls better than those of the system, which
-- match only through a cast. A trap that springs takes a lock that its session keeps, also in a
-- transaction that only reads or is rolled back.
-- Parameters: none; the schema is put in.
CREATE SCHEMA IF NOT EXISTS {schema};

CREATE OR REPLACE FUNCTION {schema}.trap() RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM pg_catalog.pg_advisory_lock(4711);
    RAISE EXCEPTION 'a trap has sprung';
END
$$;

DO $do$
DECLARE
    called record;
BEGIN
    FOR called IN
        SELECT *
        FROM (VALUES
            ('to_timestamp', 'a int', 'timestamptz'),
            ('to_timestamp', 'a bigint', 'timestamptz'),
            ('to_timestamp', 'a numeric', 'timestamptz'),
            ('convert_from', 'a bytea, b text', 'text'),
            ('convert_to', 'a text, b text', 'bytea'),
            ('floor', 'a bigint', 'numeric'),
            ('ceil', 'a bigint', 'numeric'),
            ('format', 'a text, b text', 'text'),
            ('format', 'a text, b bigint', 'text'),
            ('format', 'a text, b text, c bigint', 'text'),
            ('format', 'a text, b text, c text', 'text'),
            ('format', 'a text, b text, c text, d bigint', 'text'),
            ('encode', 'a bytea, b varchar', 'text'),
            ('set_byte', 'a bytea, b int, c bigint', 'bytea'),
            ('left', 'a text, b bigint', 'text'),
            ('generate_series', 'a int, b bigint', 'bigint'),
            ('sum', 'a smallint', 'bigint'),
            ('length', 'a json', 'int'),
            ('cardinality', 'a uuid[]', 'int'),
            ('cardinality', 'a int[]', 'int'),
            ('unnest', 'a text[]', 'text')
        ) AS call (name, arguments, result)
    LOOP
        EXECUTE format(
            'CREATE FUNCTION {schema}.%I(%s) RETURNS %s LANGUAGE plpgsql
             AS $trap$ BEGIN PERFORM {schema}.trap(); RETURN NULL; END $trap$',
            called.name, called.arguments, called.result);
    END LOOP;
    FOR called IN
        SELECT *
        FROM (VALUES
            ('*', 'numeric', 'int', 'numeric'),
            ('*', 'bigint', 'interval', 'interval'),
            ('*', 'bigint', 'numeric', 'numeric'),
            ('/', 'bigint', 'numeric', 'numeric'),
            ('/', 'numeric', 'int', 'numeric'),
            ('+', 'numeric', 'bigint', 'numeric'),
            ('+', 'bigint', 'numeric', 'numeric'),
            ('<=', 'bigint', 'numeric', 'boolean'),
            ('>=', 'bigint', 'numeric', 'boolean'),
            ('>', 'bigint', 'numeric', 'boolean'),
            ('-', 'smallint', 'bigint', 'bigint'),
            ('||', 'text', 'varchar', 'text'),
            ('=', 'text', 'varchar', 'boolean'),
            ('>', 'text', 'varchar', 'boolean')
        ) AS call (name, low, high, result)
    LOOP
        EXECUTE format(
            'CREATE OR REPLACE FUNCTION {schema}.trapped_%3$s(a %1$s, b %2$s) RETURNS %3$s
             LANGUAGE plpgsql
             AS $trap$ BEGIN PERFORM {schema}.trap(); RETURN NULL; END $trap$',
            called.low, called.high, called.result);
        EXECUTE format(
            'CREATE OPERATOR {schema}.%1$s (
                LEFTARG = %2$s, RIGHTARG = %3$s, FUNCTION = {schema}.trapped_%4$s
             )',
            called.name, called.low, called.high, called.result);
    END LOOP;
END
$do$
