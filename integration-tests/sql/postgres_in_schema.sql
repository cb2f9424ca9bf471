-- Purpose: tables of an application, also in the store's schema and with names as the store's own.
-- Parameters: none.
CREATE SCHEMA queuekit;

CREATE TABLE queuekit.orders (id int PRIMARY KEY, article text NOT NULL);

CREATE TABLE public.jobs (id int PRIMARY KEY, article text NOT NULL);

CREATE TABLE public.migrations (version int PRIMARY KEY, article text NOT NULL);

INSERT INTO queuekit.orders VALUES (1, 'book');

INSERT INTO public.jobs VALUES (1, 'book');

INSERT INTO public.migrations VALUES (7, 'book')
