-- The ledger, version 2. Written so that SQLite and PostgreSQL both take it.
-- What stands behind "sqlite:" is for SQLite alone: its tables need no second tree
-- for the key. Amounts are integer hundredths; days are 'YYYY-MM-DD' and months 'YYYY-MM' in
-- the zone of the books.

-- +goose Up

-- What the ledger holds of an order, and its number there.
ALTER TABLE commission_orders ADD COLUMN id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE commission_orders ADD COLUMN approved_on TEXT NOT NULL DEFAULT '';       -- day of approval, '' when not approved
ALTER TABLE commission_orders ADD COLUMN ledger_account TEXT NOT NULL DEFAULT '';    -- '' when nothing was posted
ALTER TABLE commission_orders ADD COLUMN ledger_currency TEXT NOT NULL DEFAULT '';
ALTER TABLE commission_orders ADD COLUMN ledger_amount BIGINT NOT NULL DEFAULT 0;
ALTER TABLE commission_orders ADD COLUMN last_transaction BIGINT NOT NULL DEFAULT 0;   -- its newest, 0 for none
ALTER TABLE commission_orders ADD COLUMN closed_transaction BIGINT NOT NULL DEFAULT 0; -- its newest in a closed month, 0 for none
UPDATE commission_orders SET id = n.number FROM
    (SELECT account, program_id, order_sn, ROW_NUMBER() OVER (ORDER BY sequence, account, program_id, order_sn) AS number
     FROM commission_orders) AS n
    WHERE n.account = commission_orders.account AND n.program_id = commission_orders.program_id AND n.order_sn = commission_orders.order_sn;
UPDATE commission_orders SET approved_on = CASE WHEN charge_day <> '' THEN charge_day ELSE SUBSTR(observed_at, 1, 10) END
    WHERE status = '2';
UPDATE commission_orders SET ledger_currency = currency, ledger_amount = commission,
    ledger_account = CASE status WHEN '0' THEN 'estimated' WHEN '1' THEN 'confirmed' ELSE 'approved' END
    WHERE status IN ('0', '1', '2');
CREATE UNIQUE INDEX commission_orders_id ON commission_orders (id);

-- One row for each event that moved money. Rows are never changed.
CREATE TABLE ledger_transactions (
    id          BIGINT   NOT NULL PRIMARY KEY, -- from 1, in the order of posting
    order_id    BIGINT   NOT NULL,             -- commission_orders.id
    version     BIGINT   NOT NULL,             -- of the order
    sequence    BIGINT   NOT NULL,             -- of the event in the log
    kind        TEXT     NOT NULL,
    observed_at TEXT     NOT NULL,             -- as in commission_orders
    posted_on   TEXT     NOT NULL,             -- the day of observed_at, or the first day that was open
    month       TEXT     NOT NULL,             -- of posted_on
    previous    BIGINT   NOT NULL,             -- the order's transaction before, 0 for none: no index is needed to follow an order
    corrects    BIGINT   NOT NULL              -- the order's newest transaction in a closed month, 0 for none
) /* sqlite: WITHOUT ROWID */;
CREATE INDEX ledger_transactions_month ON ledger_transactions (month);

-- The lines of a transaction: they add up to 0 in each currency.
CREATE TABLE ledger_entries (
    transaction_id BIGINT   NOT NULL,
    line           SMALLINT NOT NULL, -- from 1
    ledger_account TEXT     NOT NULL,
    currency       TEXT     NOT NULL,
    amount         BIGINT   NOT NULL,
    PRIMARY KEY (transaction_id, line)
) /* sqlite: WITHOUT ROWID */;

-- What the entries of a month add up to, kept with them.
CREATE TABLE ledger_balances (
    month          TEXT   NOT NULL,
    account        TEXT   NOT NULL,
    ledger_account TEXT   NOT NULL,
    currency       TEXT   NOT NULL,
    amount         BIGINT NOT NULL,
    PRIMARY KEY (month, account, ledger_account, currency)
) /* sqlite: WITHOUT ROWID */;

-- The closed months. Every month up to the last of them is closed.
CREATE TABLE ledger_months (
    month        TEXT   NOT NULL PRIMARY KEY,
    closed_at    TEXT   NOT NULL,
    transactions BIGINT NOT NULL,
    digest       TEXT   NOT NULL -- SHA-256 over the month before and all entries, hexadecimal
) /* sqlite: WITHOUT ROWID */;

-- What a closed month held.
CREATE TABLE ledger_closings (
    month          TEXT   NOT NULL,
    account        TEXT   NOT NULL,
    ledger_account TEXT   NOT NULL,
    currency       TEXT   NOT NULL,
    opening        BIGINT NOT NULL,
    movement       BIGINT NOT NULL,
    closing        BIGINT NOT NULL,
    PRIMARY KEY (month, account, ledger_account, currency)
) /* sqlite: WITHOUT ROWID */;

-- Books of version 1 begin with what their orders stood at.
INSERT INTO ledger_transactions (id, order_id, version, sequence, kind, observed_at, posted_on, month, previous, corrects)
    SELECT ROW_NUMBER() OVER (ORDER BY id), id, version, sequence, 'opening', observed_at, SUBSTR(observed_at, 1, 10), SUBSTR(observed_at, 1, 7), 0, 0
    FROM commission_orders WHERE ledger_amount <> 0;
INSERT INTO ledger_entries (transaction_id, line, ledger_account, currency, amount)
    SELECT t.id, 1, o.ledger_account, o.ledger_currency, o.ledger_amount
    FROM ledger_transactions t JOIN commission_orders o ON o.id = t.order_id;
INSERT INTO ledger_entries (transaction_id, line, ledger_account, currency, amount)
    SELECT t.id, 2, 'earnings', o.ledger_currency, -o.ledger_amount
    FROM ledger_transactions t JOIN commission_orders o ON o.id = t.order_id;
INSERT INTO ledger_balances (month, account, ledger_account, currency, amount)
    SELECT t.month, o.account, e.ledger_account, e.currency, SUM(e.amount)
    FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id JOIN commission_orders o ON o.id = t.order_id
    GROUP BY t.month, o.account, e.ledger_account, e.currency;

UPDATE commission_orders SET last_transaction = t.id FROM ledger_transactions AS t WHERE t.order_id = commission_orders.id;

-- The numbers given out last.
ALTER TABLE commission_position ADD COLUMN last_order BIGINT NOT NULL DEFAULT 0;
ALTER TABLE commission_position ADD COLUMN last_transaction BIGINT NOT NULL DEFAULT 0;
UPDATE commission_position SET last_order = (SELECT COALESCE(MAX(id), 0) FROM commission_orders),
    last_transaction = (SELECT COALESCE(MAX(id), 0) FROM ledger_transactions);

-- +goose Down
ALTER TABLE commission_position DROP COLUMN last_transaction;
ALTER TABLE commission_position DROP COLUMN last_order;
DROP TABLE ledger_closings;
DROP TABLE ledger_months;
DROP TABLE ledger_balances;
DROP TABLE ledger_entries;
DROP TABLE ledger_transactions;
DROP INDEX commission_orders_id;
ALTER TABLE commission_orders DROP COLUMN closed_transaction;
ALTER TABLE commission_orders DROP COLUMN last_transaction;
ALTER TABLE commission_orders DROP COLUMN ledger_amount;
ALTER TABLE commission_orders DROP COLUMN ledger_currency;
ALTER TABLE commission_orders DROP COLUMN ledger_account;
ALTER TABLE commission_orders DROP COLUMN approved_on;
ALTER TABLE commission_orders DROP COLUMN id;
