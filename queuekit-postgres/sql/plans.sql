-- Planner settings of the store's own connections. A plan is made once, when tables may be empty,
-- and must also be good for full tables: no scan, a look-up per row.
-- Parameters: none.
-- Result: none.
-- Index: none.
-- Locks: nothing.
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET jit = off
