-- Purpose: forgets under which claims jobs run.
DELETE FROM queuekit_claims;
