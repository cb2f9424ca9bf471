-- Purpose: everything outside of the store's schema, and what the application has in it.
-- Parameters: none.
SELECT format('%s %s', pg_namespace.nspname, pg_class.relname)
FROM pg_class
JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
WHERE
    pg_namespace.nspname NOT LIKE 'pg\_%' AND pg_namespace.nspname <> 'information_schema'
    AND (pg_namespace.nspname <> 'queuekit' OR pg_class.relname LIKE 'orders%')
UNION ALL
SELECT format('order %s %s', id, article) FROM queuekit.orders
UNION ALL
SELECT format('job %s %s', id, article) FROM public.jobs
UNION ALL
SELECT format('migration %s %s', version, article) FROM public.migrations
UNION ALL
SELECT format('function %s', pg_proc.proname)
FROM pg_proc
JOIN pg_namespace ON pg_namespace.oid = pg_proc.pronamespace
WHERE pg_namespace.nspname = 'public'
ORDER BY 1
