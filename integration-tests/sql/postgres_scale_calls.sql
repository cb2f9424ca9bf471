-- Purpose: calls of the store's statements, each prepared by the name of its file, on the queues of
-- postgres_scale_fill.sql. They follow each other in one transaction.
-- Parameters: none.
EXECUTE enqueue (
    test_ids(1, 10000001, 10000010), '{1}', '{0,1,2,3,4,5,6,7,8,9}', '{work}', '{21}', '{0}', '{}',
    '{3}', '{60000}', '{}', '{}', array_fill('payload'::bytea, '{10}'), '{}', '{}', '{1}'
);
EXECUTE enqueue (
    test_ids(5, 10000001, 10000002) || test_ids(6, 10000003, 10000004), '{5,5,6,6}', '{0,1,2,3}',
    '{work}', '{21}', '{0}', '{}', '{3}', '{60000}', '{}', '{}',
    array_fill('payload'::bytea, '{4}'), '{}', '{k,l,k,l}', '{5,6}'
);
EXECUTE keys_expire ('{leased,ended}', '{i1,i1}');
EXECUTE enqueue_any (
    test_ids(4, 0, 0), '{4}', '{0}', '{work}', '{21}', '{0}', '{}', '{3}', '{60000}', '{}',
    '{}', '{payload}', '{}', '{}', '{new}', '{false}', true, '{}', false
);
EXECUTE content (test_ids(3, 1, 2), '{1,1}');
EXECUTE key_holders ('{leased,ended}', '{i1,i1}');
EXECUTE reserve (
    '{plain}', '{10}', 10, '00000000-0000-0000-0000-000000000000', 30000, 'w', false, false, '{}',
    '{}', '{}', '{}', '{0}', 0, 8388608
);
EXECUTE reserve (
    '{later,plain}', '{10,10}', 20, '00000000-0000-0000-0000-000000000000', 30000, 'w', false,
    false, '{}', '{}', '{}', '{}', '{0,0}', 0, 8388608
);
EXECUTE reserve (
    '{later}', '{10}', 10, '00000000-0000-0000-0000-000000000000', 30000, 'w', false, false, '{}',
    '{}', '{}', '{}', '{0}', 0, 8388608
);
EXECUTE reserve (
    '{leased}', '{10}', 10, '00000000-0000-0000-0000-000000000000', 30000, 'w', false, false, '{}',
    '{}', '{}', '{}', '{0}', 0, 8388608
);
EXECUTE place (5, 1000, 0);
EXECUTE unplace (test_ids(5, 1, 1), '{5}', '{k}');
EXECUTE enqueue_any (
    test_ids(5, 0, 0), '{5}', '{0}', '{work}', '{21}', '{0}', '{}', '{3}', '{60000}', '{}',
    '{}', '{payload}', '{}', '{k}', '{NULL}', '{false}', false, '{}', false
);
EXECUTE place (5, 1000, 0);
EXECUTE reserve (
    '{key}', '{10}', 10, '00000000-0000-0000-0000-000000000000', 30000, 'w', true, true, '{}',
    '{}', '{}', '{}', '{0}', 0, 8388608
);
EXECUTE place_heads (6, 1000, 0);
EXECUTE reserve_fair (
    6, 10, '00000000-0000-0000-0000-000000000000', 30000, 'w', 0, 8388608
);
EXECUTE place_due (7, 1000);
EXECUTE place (7, 1000, 0);
EXECUTE placed (7);
EXECUTE available ('{plain,later,key,fair,passed}', 100);
EXECUTE next_due ('{plain,later,ended,leased,key,fair,passed}');
EXECUTE ack (
    test_ids(4, 11, 20), '{1}', test_ids(4, 11, 20), '{}', '{leased}'
);
EXECUTE extend (
    test_ids(4, 21, 30), array_fill(1, '{10}'), test_ids(4, 21, 30), 30000, '{leased}'
);
EXECUTE report (
    test_ids(4, 21, 30), array_fill(1, '{10}'), test_ids(4, 21, 30), array_fill(0.5, '{10}'),
    array_fill('half'::text, '{10}'), array_fill('["a line"]'::text, '{10}'), 100, '{leased}'
);
EXECUTE expired ('{leased}', 10, '{0}');
EXECUTE lock_leases (test_ids(4, 31, 60));
EXECUTE records (test_ids(4, 31, 40) || test_ids(3, 1, 10) || test_ids(8, 1, 10));
EXECUTE views (test_ids(4, 31, 40) || test_ids(3, 1, 10) || test_ids(8, 1, 10));
EXECUTE last_errors (test_ids(4, 31, 40) || test_ids(3, 1, 10) || test_ids(8, 1, 10));
EXECUTE view_bytes (test_ids(4, 31, 40) || test_ids(3, 1, 10) || test_ids(8, 1, 10));
EXECUTE to_pending (
    test_ids(4, 31, 40), array_fill(1000000000000, '{10}'), array_fill(1, '{10}'),
    array_fill(0, '{10}'), array_fill('[{"error": "late"}]'::text, '{10}'), 20, 20
);
EXECUTE to_ended (
    test_ids(4, 41, 42), '{true,true}', '{3,4}', '{1,1}', '{1,1}', '{NULL,NULL}', '{0,0}', '{w,w}',
    '{false,false}', '{false,false}', '{bad,NULL}', '{NULL,NULL}', '{false,false}',
    20, 20
);
EXECUTE keys_settle (
    '{leased,leased}', '{i41,i42}', test_ids(4, 41, 42), '{NULL,1000}'
);
EXECUTE keys_take ('{leased}', '{i43}', test_ids(4, 43, 43));
EXECUTE request_cancel (test_ids(4, 51, 60));
EXECUTE lock_ended (test_ids(3, 1, 5) || test_ids(8, 1, 5));
EXECUTE to_waiting (test_ids(8, 1, 5), array_fill(false, '{5}'), array_fill(0, '{5}'));
EXECUTE to_nothing (test_ids(3, 1, 5) || test_ids(8, 6, 10));
EXECUTE take_ready (test_ids(1, 100, 100), '{1}', '{21}', '{1000000000100}', '{100}');
EXECUTE reschedule (test_ids(1, 100, 100), 1000);
EXECUTE is_head (5, 'k', 500);
EXECUTE blocker (5, 'k');
EXECUTE frontiers ('{5}', '{k}');
EXECUTE frontiers ('{7}', '{k}');
EXECUTE frontiers ('{9}', '{k}');
EXECUTE count_before (1, 21, 4102444800000, 0, 100);
EXECUTE figures (NULL);
EXECUTE waiting ('{1,2,5}', 100);
EXECUTE waiting_keyed (5, 100);
EXECUTE waiting_sample (2, 100);
EXECUTE list_first ('{1,2,3,4,5,6,7}', '{f,f,f,f,f,t,f}', '{0,1,2,3,4,5,6,7}', 100, -9223372036854775808, 9223372036854775807);
EXECUTE list_first ('{1}', '{t}', '{1}', 100, -9223372036854775808, 9223372036854775807);
EXECUTE list_first ('{3}', '{f}', '{5,6,7}', 100, -9223372036854775808, 9223372036854775807);
EXECUTE list_first ('{6}', '{t}', '{1}', 100, -9223372036854775808, 9223372036854775807);
EXECUTE recent_ends ('{ended,ended,plain}', '{2,3,2}', '{9223372036854775807,9223372036854775807,1000000000500}', '{0,0,0}', 100);
EXECUTE list_leased (4, 0, 0, 100);
EXECUTE list_waiting (1, 0, 0, 0, 100);
EXECUTE list_waiting (2, 0, 0, 0, 100);
EXECUTE list_waiting (5, 0, 0, 0, 100);
EXECUTE list_waiting (5, 21, 1000000000400, 0, 100);
EXECUTE list_lanes (6, '', 0, 100, false);
EXECUTE list_lanes (6, 'k', 400, 100, false);
EXECUTE list_lanes (7, '', 0, 100, true);
EXECUTE list_lanes (1, '', 0, 100, true);
EXECUTE list_ended (3, 2, 9223372036854775807, 0, 100, -9223372036854775808);
EXECUTE list_ended (3, 2, 9223372036854775807, 0, 100, 1000000000500);
EXECUTE list_dead (3, 9223372036854775807, 0, 100, -9223372036854775808);
EXECUTE list_dead (3, 1000000000500, 0, 100, -9223372036854775808);
EXECUTE list_dead (3, 9223372036854775807, 0, 100, 1000000000500);
EXECUTE oldest_ended ('{3}');
EXECUTE oldest_finished (3, 100);
EXECUTE oldest_dead (3, 100);
EXECUTE prune (test_ids(8, 11, 20), array_fill(1000000000015, '{10}'));
EXECUTE keys_forget (100);
EXECUTE queue_jobs (5, 100)
EXECUTE schedule_insert ('s', 1, '');
EXECUTE schedule ('s');
EXECUTE schedules_after ('', 10, 8388608);
EXECUTE schedules_due (10, 0, '', 8388608);
EXECUTE schedule_update ('s', 1, 2, '');
EXECUTE schedule_delete ('s', 2);
