-- Purpose: sets the oldest version whose programs work with the newest schema.
-- Parameters: $1 the version; the schema's name is put in.
UPDATE queuekit.migrations SET compatible_from = $1::int WHERE version = 99
