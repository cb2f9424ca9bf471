-- How many statements of a database the server has run.
-- Parameters: $1 the database.
SELECT coalesce(sum(statements.calls), 0)::bigint AS statements
FROM pg_stat_statements AS statements
INNER JOIN pg_database AS databases ON statements.dbid = databases.oid
WHERE databases.datname = $1::name
