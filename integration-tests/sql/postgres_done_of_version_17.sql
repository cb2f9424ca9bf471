-- Purpose: up to version 17, the bodies of completed and cancelled jobs stood in a table of their
-- own. Moves them there, in the columns that the schema has.
-- Parameters: none; the names of the schemas, {older} and {newer}, are put in.
DO $do$
DECLARE
    of_end CONSTANT text[] := '{
        nonce, finished_at, started_at, lease_seq, state, attempts, cancel_requested, worker,
        result
    }';
    columns text;
    vals text;
BEGIN
    SELECT
        string_agg(quote_ident(mine.column_name), ', '),
        string_agg(
            format(
                '%s.%I',
                CASE WHEN mine.column_name = ANY (of_end) THEN 'ended' ELSE 'jobs' END,
                mine.column_name
            ), ', '
        )
    INTO columns, vals
    FROM information_schema.columns AS mine
    WHERE mine.table_schema = '{older}' AND mine.table_name = 'done';
    EXECUTE format(
        'INSERT INTO {older}.done (%s)
         SELECT %s FROM {newer}.ended JOIN {newer}.jobs ON jobs.id = ended.id',
        columns, vals);
    DELETE FROM {older}.jobs WHERE jobs.id IN (SELECT ended.id FROM {newer}.ended);
END
$do$;
