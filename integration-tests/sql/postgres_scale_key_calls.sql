-- Purpose: looks at all partition keys of postgres_scale_keys.sql at once: at first, again when
-- their jobs stand in ready, and when one of each runs.
-- Parameters: none; the number of keys is put in.
EXECUTE place (1, {keys}, 0);
EXECUTE queue_unplace (1);
EXECUTE place (1, {keys}, 0);
EXECUTE reserve (
    '{looked}', '{{keys}}', {keys}, '00000000-0000-0000-0000-000000000000', 30000, 'w', true, true,
    '{}', '{}', '{}', '{}', '{0}'
);
EXECUTE place (1, {keys}, 0)
