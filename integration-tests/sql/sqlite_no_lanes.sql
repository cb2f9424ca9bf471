-- Purpose: forgets every partition key.
DELETE FROM queuekit_lanes;
