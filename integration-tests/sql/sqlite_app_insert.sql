-- Purpose: an application's own row.
INSERT INTO orders (item) VALUES ('book');
