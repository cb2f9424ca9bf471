-- Purpose: makes the schema one of the next version, as far as such a version goes: programs of
-- this one know nothing of what it adds.
-- Parameters: none; the schema's name is put in.
ALTER TABLE queuekit.jobs ADD COLUMN of_tomorrow text;
ALTER TABLE queuekit.ended ADD COLUMN of_tomorrow bigint NOT NULL DEFAULT 1;
ALTER TABLE queuekit.dead ADD COLUMN of_tomorrow text;
ALTER TABLE queuekit.queues ADD COLUMN of_tomorrow boolean NOT NULL DEFAULT false;
CREATE TABLE queuekit.tomorrow (id bigint PRIMARY KEY);
INSERT INTO queuekit.migrations (version, compatible_from)
SELECT max(migrations.version) + 1, max(migrations.version) FROM queuekit.migrations;
