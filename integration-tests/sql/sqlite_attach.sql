-- Purpose: makes another store's tables known as newer.*.
-- Parameters: 1 its file.
ATTACH ?1 AS newer;
