-- Purpose: how many dead rows there are where reserves look, as far as the statistics know.
-- Parameters: none; the schema's name is put in.
SELECT pg_stat_get_dead_tuples('queuekit.ready'::regclass)
