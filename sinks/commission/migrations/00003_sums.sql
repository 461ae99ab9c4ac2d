-- Sums, version 3: kept in the transaction that changes an order, as differences.
-- Rows whose order count and amounts have gone back to 0 may stay.

-- +goose Up

-- What orders are summed up by, and does not change often.
CREATE TABLE commission_dimensions (
    id         BIGINT NOT NULL PRIMARY KEY,
    account    TEXT   NOT NULL,
    program_id TEXT   NOT NULL,
    website_id TEXT   NOT NULL,
    sub_id     TEXT   NOT NULL,
    link_id    TEXT   NOT NULL
) /* sqlite: WITHOUT ROWID */;
INSERT INTO commission_dimensions (id, account, program_id, website_id, sub_id, link_id)
    SELECT ROW_NUMBER() OVER (ORDER BY account, program_id, website_id, sub_id, link_id), account, program_id, website_id, sub_id, link_id
    FROM (SELECT account, program_id, website_id, sub_id, link_id FROM commission_orders
        UNION SELECT account, program_id, '', '', '' FROM commission_orders
        UNION SELECT account, '', '', sub_id, '' FROM commission_orders) AS d;
CREATE UNIQUE INDEX commission_dimensions_texts ON commission_dimensions (account, program_id, website_id, sub_id, link_id);

ALTER TABLE commission_orders ADD COLUMN dimension_id BIGINT NOT NULL DEFAULT 0;
UPDATE commission_orders SET dimension_id = d.id FROM commission_dimensions AS d
    WHERE d.account = commission_orders.account AND d.program_id = commission_orders.program_id AND d.website_id = commission_orders.website_id
        AND d.sub_id = commission_orders.sub_id AND d.link_id = commission_orders.link_id;
ALTER TABLE commission_position ADD COLUMN last_dimension BIGINT NOT NULL DEFAULT 0;
UPDATE commission_position SET last_dimension = (SELECT COALESCE(MAX(id), 0) FROM commission_dimensions);

-- Orders, order amount and commission by day and what they count as.
CREATE TABLE commission_sums (
    -- 1: day of the order; 2: day of settlement; 3: day of posting, what that day changed.
    -- 4, 5, 6: the same by account and program alone; 7, 8, 9: by account and sub id alone.
    kind         SMALLINT NOT NULL,
    day          TEXT     NOT NULL,
    dimension_id BIGINT   NOT NULL,
    currency     TEXT     NOT NULL,
    status       TEXT     NOT NULL,
    orders       BIGINT   NOT NULL,
    order_amount BIGINT   NOT NULL,
    commission   BIGINT   NOT NULL,
    PRIMARY KEY (kind, day, dimension_id, currency, status)
) /* sqlite: WITHOUT ROWID */;
INSERT INTO commission_sums (kind, day, dimension_id, currency, status, orders, order_amount, commission)
    SELECT 1, day, dimension_id, currency, status, COUNT(*), SUM(order_amount), SUM(commission)
    FROM commission_orders GROUP BY day, dimension_id, currency, status;
INSERT INTO commission_sums (kind, day, dimension_id, currency, status, orders, order_amount, commission)
    SELECT 2, charge_day, dimension_id, currency, status, COUNT(*), SUM(order_amount), SUM(commission)
    FROM commission_orders WHERE charge_day <> '' GROUP BY charge_day, dimension_id, currency, status;
INSERT INTO commission_sums (kind, day, dimension_id, currency, status, orders, order_amount, commission)
    SELECT 3, SUBSTR(observed_at, 1, 10), dimension_id, currency, status, COUNT(*), SUM(order_amount), SUM(commission)
    FROM commission_orders GROUP BY SUBSTR(observed_at, 1, 10), dimension_id, currency, status;
INSERT INTO commission_sums (kind, day, dimension_id, currency, status, orders, order_amount, commission)
    SELECT s.kind + 3, s.day, c.id, s.currency, s.status, SUM(s.orders), SUM(s.order_amount), SUM(s.commission)
    FROM commission_sums s JOIN commission_dimensions d ON d.id = s.dimension_id
        JOIN commission_dimensions c ON c.account = d.account AND c.program_id = d.program_id AND c.website_id = '' AND c.sub_id = '' AND c.link_id = ''
    WHERE s.kind <= 3 GROUP BY s.kind, s.day, c.id, s.currency, s.status;
INSERT INTO commission_sums (kind, day, dimension_id, currency, status, orders, order_amount, commission)
    SELECT s.kind + 6, s.day, c.id, s.currency, s.status, SUM(s.orders), SUM(s.order_amount), SUM(s.commission)
    FROM commission_sums s JOIN commission_dimensions d ON d.id = s.dimension_id
        JOIN commission_dimensions c ON c.account = d.account AND c.program_id = '' AND c.website_id = '' AND c.sub_id = d.sub_id AND c.link_id = ''
    WHERE s.kind <= 3 GROUP BY s.kind, s.day, c.id, s.currency, s.status;

-- Confirmed and approved orders: what was estimated, and what came.
CREATE TABLE commission_settled (
    account              TEXT   NOT NULL,
    program_id           TEXT   NOT NULL,
    estimated_currency   TEXT   NOT NULL,
    confirmed_currency   TEXT   NOT NULL,
    orders               BIGINT NOT NULL,
    estimated_amount     BIGINT NOT NULL,
    estimated_commission BIGINT NOT NULL,
    confirmed_amount     BIGINT NOT NULL,
    confirmed_commission BIGINT NOT NULL,
    PRIMARY KEY (account, program_id, estimated_currency, confirmed_currency)
) /* sqlite: WITHOUT ROWID */;
INSERT INTO commission_settled (account, program_id, estimated_currency, confirmed_currency, orders,
        estimated_amount, estimated_commission, confirmed_amount, confirmed_commission)
    SELECT account, program_id, estimated_currency, currency, COUNT(*),
        SUM(estimated_amount), SUM(estimated_commission), SUM(order_amount), SUM(commission)
    FROM commission_orders WHERE status IN ('1', '2') GROUP BY account, program_id, estimated_currency, currency;

-- Approved orders by the days from the order to its approval, at least 0.
CREATE TABLE commission_approvals (
    account    TEXT   NOT NULL,
    program_id TEXT   NOT NULL,
    days       BIGINT NOT NULL,
    orders     BIGINT NOT NULL,
    PRIMARY KEY (account, program_id, days)
) /* sqlite: WITHOUT ROWID */;
-- The number of a day is the Julian one, in arithmetic that both databases share.
INSERT INTO commission_approvals (account, program_id, days, orders)
    SELECT account, program_id, CASE WHEN until > since THEN until - since ELSE 0 END, COUNT(*) FROM (
        SELECT account, program_id,
            (1461*(y1+4800+(m1-14)/12))/4 + (367*(m1-2-12*((m1-14)/12)))/12 - (3*((y1+4900+(m1-14)/12)/100))/4 + d1 AS since,
            (1461*(y2+4800+(m2-14)/12))/4 + (367*(m2-2-12*((m2-14)/12)))/12 - (3*((y2+4900+(m2-14)/12)/100))/4 + d2 AS until
        FROM (SELECT account, program_id,
            CAST(SUBSTR(day, 1, 4) AS INTEGER) AS y1, CAST(SUBSTR(day, 6, 2) AS INTEGER) AS m1, CAST(SUBSTR(day, 9, 2) AS INTEGER) AS d1,
            CAST(SUBSTR(approved_on, 1, 4) AS INTEGER) AS y2, CAST(SUBSTR(approved_on, 6, 2) AS INTEGER) AS m2, CAST(SUBSTR(approved_on, 9, 2) AS INTEGER) AS d2
            FROM commission_orders WHERE approved_on <> '' AND day <> '') AS parts
        ) AS numbers
    GROUP BY account, program_id, CASE WHEN until > since THEN until - since ELSE 0 END;

-- Reports read the sums. The orders of a sum are found by what does not change.
DROP INDEX commission_orders_report;
CREATE INDEX commission_orders_day ON commission_orders (day, account, program_id); -- begins with day, so that no plan takes it for the key

-- Those that wait for a decision, by age.
CREATE INDEX commission_orders_pending ON commission_orders (day) WHERE status = '0';

-- +goose Down
DROP INDEX commission_orders_pending;
DROP INDEX commission_orders_day;
CREATE INDEX commission_orders_report ON commission_orders
    (account, program_id, day, website_id, sub_id, currency, status, order_amount, commission);
DROP TABLE commission_approvals;
DROP TABLE commission_settled;
DROP TABLE commission_sums;
ALTER TABLE commission_position DROP COLUMN last_dimension;
ALTER TABLE commission_orders DROP COLUMN dimension_id;
DROP TABLE commission_dimensions;
