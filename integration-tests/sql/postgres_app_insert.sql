-- Purpose: the application stores a row.
-- Parameters: none.
INSERT INTO orders (article) VALUES ('book')
