-- +goose Up

-- What a publisher's clicks and orders sum up to, kept with every change. An
-- order counts on the day of its OrderTime. Each of them stands in two rows: that
-- of its sub id, and that of all sub ids together, which stay few.
CREATE TABLE statistics (
    publisher_id             BIGINT NOT NULL,
    by_sub                   INTEGER NOT NULL, -- 1: of one sub id; 0: of all together, sub_id is ''
    day                      BIGINT NOT NULL, -- of the zone in counters, days since 1970-01-01
    program_id               TEXT COLLATE "C" NOT NULL,
    website_id               TEXT COLLATE "C" NOT NULL,
    sub_id                   TEXT COLLATE "C" NOT NULL,
    currency                 TEXT COLLATE "C" NOT NULL, -- of the estimates, '' for clicks
    charge_currency          TEXT COLLATE "C" NOT NULL, -- '' for clicks and before the first settlement
    clicks                   BIGINT NOT NULL,
    orders                   BIGINT NOT NULL, -- in any status
    orders_cents             BIGINT NOT NULL,
    commission_cents         BIGINT NOT NULL,
    invalid_orders           BIGINT NOT NULL, -- now in this status
    confirmed_orders         BIGINT NOT NULL,
    approved_orders          BIGINT NOT NULL,
    confirm_cents            BIGINT NOT NULL,
    confirm_commission_cents BIGINT NOT NULL,
    PRIMARY KEY (publisher_id, by_sub, day, program_id, website_id, sub_id, currency, charge_currency)
);
CREATE INDEX statistics_sub ON statistics (publisher_id, sub_id, day);

-- The zone of the days. '' stands for none: the service fills the table from
-- orders and clicks when it opens the database, as it does for another zone.
ALTER TABLE counters ADD COLUMN zone TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE counters DROP COLUMN zone;
DROP TABLE statistics;
