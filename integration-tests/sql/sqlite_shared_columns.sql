-- Purpose: tells what a store of an older version keeps.
-- Result: each of its tables, and its columns, separated by commas.
SELECT tables.name, group_concat(columns.name)
FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
WHERE
    tables.type = 'table'
    AND tables.name LIKE 'queuekit_%'
    AND tables.name <> 'queuekit_migrations'
GROUP BY tables.name;
