-- The books of commissions, version 1. Written so that SQLite and PostgreSQL
-- both take it. Amounts are integer hundredths; texts are '' where the network
-- sent nothing; days are 'YYYY-MM-DD' in the account's zone, '' when unreadable.

-- +goose Up

-- The present state of every order: one row, whatever its history.
CREATE TABLE commission_orders (
    account              TEXT     NOT NULL,
    program_id           TEXT     NOT NULL,
    order_sn             TEXT     NOT NULL,
    version              BIGINT   NOT NULL, -- of the event that this row shows
    sequence             BIGINT   NOT NULL, -- of that event in the log
    observed_at          TEXT     NOT NULL, -- when the network answered so, UTC, RFC 3339
    vanished             SMALLINT NOT NULL, -- 1: the network no longer knows the order
    program_name         TEXT     NOT NULL,
    website_id           TEXT     NOT NULL,
    link_id              TEXT     NOT NULL,
    sub_id               TEXT     NOT NULL,
    day                  TEXT     NOT NULL, -- of placement
    charge_day           TEXT     NOT NULL, -- of settlement
    -- What the order counts as today:
    status               TEXT     NOT NULL, -- value of specification 3.1, or the network's own text
    currency             TEXT     NOT NULL,
    order_amount         BIGINT   NOT NULL,
    commission           BIGINT   NOT NULL,
    -- What the network says of it:
    estimated_currency   TEXT     NOT NULL,
    estimated_amount     BIGINT   NOT NULL,
    estimated_commission BIGINT   NOT NULL,
    confirmed_currency   TEXT     NOT NULL, -- '' while nothing is confirmed
    confirmed_amount     BIGINT   NOT NULL,
    confirmed_commission BIGINT   NOT NULL,
    PRIMARY KEY (account, program_id, order_sn)
);

-- Holds all that a report needs, in the order in which it is grouped.
CREATE INDEX commission_orders_report ON commission_orders
    (account, program_id, day, website_id, sub_id, currency, status, order_amount, commission);

-- How far the log has been taken: one row.
CREATE TABLE commission_position (
    id       SMALLINT NOT NULL PRIMARY KEY CHECK (id = 1),
    sequence BIGINT   NOT NULL
);
INSERT INTO commission_position (id, sequence) VALUES (1, 0);

-- +goose Down
DROP TABLE commission_position;
DROP TABLE commission_orders;
