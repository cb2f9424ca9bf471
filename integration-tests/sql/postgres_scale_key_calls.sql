-- Purpose: looks at all partition keys of postgres_scale_keys.sql at once: at first, again when
-- their jobs stand in ready, and when one of each runs; in queue 2 also when others have come
-- behind those that stand there. Last, as many jobs with idempotency keys are stored.
-- Parameters: none; the number of keys is put in.
EXECUTE place (1, {keys}, 0);
EXECUTE queue_unplace (1);
EXECUTE place (1, {keys}, 0);
EXECUTE reserve (
    '{looked}', '{{keys}}', {keys}, '00000000-0000-0000-0000-000000000000', 30000, 'w', true, true,
    '{}', '{}', '{}', '{}', '{0}', 0, 8388608
);
EXECUTE place (1, {keys}, 0);
EXECUTE place_heads (2, {keys}, 0);
EXECUTE enqueue (
    test_ids(2, 10000001, 10000000 + {keys}), '{2}', array_fill(10000, '{{keys}}'), '{work}',
    '{21}', '{0}', '{}', '{3}', '{60000}', '{}', '{}', array_fill('payload'::bytea, '{{keys}}'),
    '{}', test_lanes({keys}), '{2}'
);
EXECUTE place_heads (2, {keys}, 0);
EXECUTE queue_unplace (2);
EXECUTE place_heads (2, {keys}, 0);
EXECUTE reserve (
    '{heads}', '{{keys}}', {keys}, '00000000-0000-0000-0000-000000000000', 30000, 'w', true, true,
    '{}', '{}', '{}', '{}', '{0}', 0, 8388608
);
EXECUTE queue_unplace (2);
EXECUTE place_heads (2, {keys}, 0);
EXECUTE enqueue_any (
    test_ids(2, 20000001, 20000000 + {keys}), '{2}', array_fill(10000, '{{keys}}'), '{work}',
    '{21}', '{0}', '{}', '{3}', '{60000}', '{}', '{}', array_fill('payload'::bytea, '{{keys}}'),
    '{}', '{}', test_lanes({keys}), array_fill(false, '{{keys}}'), true, '{}', false
)
