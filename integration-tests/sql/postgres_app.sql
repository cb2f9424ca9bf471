-- Purpose: a table of an application's own, beside the store's.
-- Parameters: none.
CREATE TABLE orders (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, article text NOT NULL)
