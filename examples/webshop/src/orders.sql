-- The tables of the shop. They are in the same database as those of queuekit, so that one
-- transaction can write both.
CREATE TABLE IF NOT EXISTS orders (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    placed_at timestamptz NOT NULL DEFAULT now(),
    customer text NOT NULL,
    item text NOT NULL,
    -- The ids of the order's jobs.
    confirmation text NOT NULL,
    packing text NOT NULL
);

CREATE TABLE IF NOT EXISTS sales (
    reported_at timestamptz NOT NULL DEFAULT now(),
    orders bigint NOT NULL
);

CREATE TABLE IF NOT EXISTS purchases (
    bought_at timestamptz NOT NULL DEFAULT now(),
    pieces bigint NOT NULL
);
