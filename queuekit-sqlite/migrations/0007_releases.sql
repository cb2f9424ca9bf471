-- queuekit, schema version 7: releases apart from failures.
--
-- Purpose: a failure tells when its run began, and a release is kept as a row of its own (contract
-- R4.8). A lease fails or is released, never both, so the primary key holds for both. Programs of
-- version 6 would show releases as failures.
-- Locks: the file's write lock, until the migration commits.
ALTER TABLE queuekit_failures ADD COLUMN started_at INTEGER;
-- NULL: a failure. Else a release, and why: a word of core's ReleaseCause, or empty if the worker
-- did not say.
ALTER TABLE queuekit_failures ADD COLUMN cause TEXT;
