-- A database whose statements a server counts that has loaded pg_stat_statements.
CREATE EXTENSION pg_stat_statements;
CREATE DATABASE the_database;
