-- Purpose: a table as an application has one beside the jobs.
CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL);
