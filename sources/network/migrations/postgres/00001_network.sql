-- +goose Up

-- Amounts are integer hundredths, times are Unix seconds. Identifiers that a
-- client sees as text are text here too. Numbers are handed out by "counters",
-- not by the database, so that a simulation gives the same ones every time.
--
-- This is SQLite's first and second migration at once. Text is compared and put
-- in order byte by byte, as there.

CREATE TABLE counters (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    last_owner   BIGINT NOT NULL, -- publishers and advertisers
    last_link    BIGINT NOT NULL,
    last_order   BIGINT NOT NULL,
    last_change  BIGINT NOT NULL  -- order_history.seq, ascending in the order of commits
);
INSERT INTO counters VALUES (1, 0, 100000, 10000000, 0);

CREATE TABLE publishers (
    id         BIGINT PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE advertisers (
    id         BIGINT PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

-- One table for both sides, because the key alone decides which side calls.
CREATE TABLE access_keys (
    access_key    TEXT COLLATE "C" PRIMARY KEY,
    publisher_id  BIGINT REFERENCES publishers (id),
    advertiser_id BIGINT REFERENCES advertisers (id),
    secret        TEXT COLLATE "C" NOT NULL, -- App Secret, '' for an ADS_KEY
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    CHECK ((publisher_id IS NULL) <> (advertiser_id IS NULL))
);

CREATE TABLE websites (
    id           TEXT COLLATE "C" PRIMARY KEY,
    publisher_id BIGINT NOT NULL REFERENCES publishers (id),
    created_at   BIGINT NOT NULL
);
CREATE INDEX websites_publisher ON websites (publisher_id, id);

CREATE TABLE programs (
    id              TEXT COLLATE "C" PRIMARY KEY,
    name            TEXT COLLATE "C" NOT NULL,
    domain          TEXT COLLATE "C" NOT NULL,
    currency        TEXT COLLATE "C" NOT NULL, -- of the estimates
    charge_currency TEXT COLLATE "C" NOT NULL, -- of the confirmed amounts
    commission_rate BIGINT NOT NULL, -- hundredths of a percent of the order amount
    created_at      BIGINT NOT NULL
);

CREATE TABLE links (
    id           BIGINT PRIMARY KEY,
    publisher_id BIGINT NOT NULL REFERENCES publishers (id),
    website_id   TEXT COLLATE "C" NOT NULL REFERENCES websites (id),
    url          TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    UNIQUE (website_id, url)
);

CREATE TABLE orders (
    id                       BIGINT PRIMARY KEY,
    publisher_id             BIGINT NOT NULL REFERENCES publishers (id),
    program_id               TEXT COLLATE "C" NOT NULL,
    program_name             TEXT COLLATE "C" NOT NULL,
    website_id               TEXT COLLATE "C" NOT NULL,
    link_id                  TEXT COLLATE "C" NOT NULL,
    sub_id                   TEXT COLLATE "C" NOT NULL,
    order_sn                 TEXT COLLATE "C" NOT NULL,
    parent_order_sn          TEXT COLLATE "C" NOT NULL,
    order_time               BIGINT NOT NULL,
    orders_cents             BIGINT NOT NULL,
    commission_cents         BIGINT NOT NULL,
    currency                 TEXT COLLATE "C" NOT NULL,
    status                   INTEGER NOT NULL,
    confirm_cents            BIGINT, -- this and the next three are null until the first settlement
    confirm_commission_cents BIGINT,
    charge_currency          TEXT COLLATE "C",
    charge_time              BIGINT,
    created_at               BIGINT NOT NULL,
    updated_at               BIGINT NOT NULL,
    seq                      BIGINT NOT NULL, -- the order's last line of order_history
    details                  TEXT NOT NULL,   -- order lines, the JSON array that goes over the wire
    head                     TEXT NOT NULL DEFAULT '', -- the record up to its lines, with times as chr(31) and Unix seconds
    UNIQUE (program_id, order_sn)
);
CREATE INDEX orders_updated ON orders (publisher_id, updated_at, id);
CREATE INDEX orders_placed ON orders (publisher_id, order_time, id);
CREATE INDEX orders_charged ON orders (publisher_id, charge_time, id) WHERE charge_time IS NOT NULL;

-- The state of an order after each of its changes. What a change did is the
-- difference to the line before.
CREATE TABLE order_history (
    seq                      BIGINT PRIMARY KEY,
    order_id                 BIGINT NOT NULL REFERENCES orders (id),
    at                       BIGINT NOT NULL,
    reason                   TEXT COLLATE "C" NOT NULL,
    status                   INTEGER NOT NULL,
    orders_cents             BIGINT NOT NULL,
    commission_cents         BIGINT NOT NULL,
    confirm_cents            BIGINT,
    confirm_commission_cents BIGINT,
    line_states              TEXT NOT NULL -- LbOrderStatus of every line, separated by commas
);
CREATE INDEX order_history_order ON order_history (order_id, seq);

-- How many orders of a publisher have a time in a minute (Unix seconds / 60).
CREATE TABLE order_counts (
    publisher_id BIGINT NOT NULL,
    field        TEXT COLLATE "C" NOT NULL, -- column of orders that holds the time
    minute       BIGINT NOT NULL,
    orders       BIGINT NOT NULL,
    PRIMARY KEY (publisher_id, field, minute)
);

-- The simulator's place: which seed, how many orders and changes it has made,
-- and its own clock in milliseconds.
CREATE TABLE simulation (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    seed   BIGINT NOT NULL,
    orders BIGINT NOT NULL,
    moves  BIGINT NOT NULL,
    clock  BIGINT NOT NULL
);

-- The next change of each simulated order, due on the simulator's clock; null
-- when its life is over.
CREATE TABLE simulated_orders (
    order_id BIGINT PRIMARY KEY REFERENCES orders (id),
    number   BIGINT NOT NULL,
    moves    BIGINT NOT NULL,
    due      BIGINT
);
CREATE INDEX simulated_orders_due ON simulated_orders (due, order_id) WHERE due IS NOT NULL;

-- +goose Down
DROP TABLE simulated_orders;
DROP TABLE simulation;
DROP TABLE order_counts;
DROP TABLE order_history;
DROP TABLE orders;
DROP TABLE links;
DROP TABLE programs;
DROP TABLE websites;
DROP TABLE access_keys;
DROP TABLE advertisers;
DROP TABLE publishers;
DROP TABLE counters;
