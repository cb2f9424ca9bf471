-- Purpose: takes a name that a migration needs, late in it.
CREATE TABLE queuekit_workers (id TEXT);
