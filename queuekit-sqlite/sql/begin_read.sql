-- Purpose: begins a read that sees one instant.
-- Locks: none that keeps a writer waiting.
BEGIN DEFERRED;
