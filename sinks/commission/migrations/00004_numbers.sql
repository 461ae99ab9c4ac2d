-- Narrow rows, version 4: texts that repeat are numbers, a transaction is one row,
-- and sums are kept where they are fewer than the orders. Views show the tables of
-- before, with their texts. What SQLite shall not see stands in a line that ends in
-- "-- postgres".

-- +goose Up

-- The texts that repeat: status, currency, name of a program, account of the
-- ledger, kind of a transaction.
CREATE TABLE commission_texts (
    id   /* sqlite: INTEGER PRIMARY KEY, -- */ INTEGER NOT NULL PRIMARY KEY, -- in SQLite its own number of a row
    text TEXT NOT NULL
);
INSERT INTO commission_texts (id, text) SELECT ROW_NUMBER() OVER (ORDER BY text), text FROM (
    SELECT '' AS text UNION SELECT status FROM commission_orders UNION SELECT currency FROM commission_orders
    UNION SELECT estimated_currency FROM commission_orders UNION SELECT program_name FROM commission_orders
    UNION SELECT ledger_account FROM commission_orders UNION SELECT ledger_currency FROM commission_orders
    UNION SELECT kind FROM ledger_transactions UNION SELECT ledger_account FROM ledger_entries UNION SELECT currency FROM ledger_entries
    UNION SELECT currency FROM commission_sums UNION SELECT status FROM commission_sums) AS t;
CREATE UNIQUE INDEX commission_texts_text ON commission_texts (text);
ALTER TABLE commission_position ADD COLUMN last_text BIGINT NOT NULL DEFAULT 0;
UPDATE commission_position SET last_text = (SELECT MAX(id) FROM commission_texts);

-- Dimensions of a website alone and of a link alone.
INSERT INTO commission_dimensions (id, account, program_id, website_id, sub_id, link_id)
    SELECT p.last_dimension + ROW_NUMBER() OVER (ORDER BY n.account, n.website_id, n.link_id), n.account, '', n.website_id, '', n.link_id
    FROM commission_position p, (SELECT account, website_id, '' AS link_id FROM commission_dimensions
        UNION SELECT account, '', link_id FROM commission_dimensions) AS n
    WHERE NOT EXISTS (SELECT 1 FROM commission_dimensions h WHERE h.account = n.account AND h.program_id = '' AND h.website_id = n.website_id
        AND h.sub_id = '' AND h.link_id = n.link_id);
UPDATE commission_position SET last_dimension = (SELECT COALESCE(MAX(id), 0) FROM commission_dimensions);

-- The present state of every order. Days are numbers, 20260301, 0 for none.
CREATE TABLE commission_states (
    id                   /* sqlite: INTEGER PRIMARY KEY, -- */ BIGINT NOT NULL PRIMARY KEY,
    owner_id             BIGINT   NOT NULL, -- dimension of account and program alone
    order_sn             TEXT     NOT NULL,
    dimension_id         BIGINT   NOT NULL,
    day                  INTEGER  NOT NULL, -- of placement
    charge_day           INTEGER  NOT NULL, -- of settlement
    approved_on          INTEGER  NOT NULL,
    version              BIGINT   NOT NULL,
    sequence             BIGINT   NOT NULL,
    observed_at          TEXT     NOT NULL,
    vanished             SMALLINT NOT NULL,
    program_name         INTEGER  NOT NULL, -- commission_texts.id, as the others without a type of their own
    status               INTEGER  NOT NULL,
    currency             INTEGER  NOT NULL,
    order_amount         BIGINT   NOT NULL,
    commission           BIGINT   NOT NULL,
    estimated_currency   INTEGER  NOT NULL,
    estimated_amount     BIGINT   NOT NULL,
    estimated_commission BIGINT   NOT NULL,
    ledger_account       INTEGER  NOT NULL,
    ledger_currency      INTEGER  NOT NULL,
    ledger_amount        BIGINT   NOT NULL,
    last_transaction     BIGINT   NOT NULL,
    closed_transaction   BIGINT   NOT NULL
);
INSERT INTO commission_states
    SELECT o.id, d.id, o.order_sn, o.dimension_id,
        CASE o.day WHEN '' THEN 0 ELSE CAST(REPLACE(o.day, '-', '') AS INTEGER) END,
        CASE o.charge_day WHEN '' THEN 0 ELSE CAST(REPLACE(o.charge_day, '-', '') AS INTEGER) END,
        CASE o.approved_on WHEN '' THEN 0 ELSE CAST(REPLACE(o.approved_on, '-', '') AS INTEGER) END,
        o.version, o.sequence, o.observed_at, o.vanished, n.id, s.id, c.id, o.order_amount, o.commission,
        e.id, o.estimated_amount, o.estimated_commission, a.id, l.id, o.ledger_amount, o.last_transaction, o.closed_transaction
    FROM commission_orders o
        JOIN commission_dimensions d ON d.account = o.account AND d.program_id = o.program_id AND d.website_id = '' AND d.sub_id = '' AND d.link_id = ''
        JOIN commission_texts n ON n.text = o.program_name JOIN commission_texts s ON s.text = o.status JOIN commission_texts c ON c.text = o.currency
        JOIN commission_texts e ON e.text = o.estimated_currency JOIN commission_texts a ON a.text = o.ledger_account
        JOIN commission_texts l ON l.text = o.ledger_currency
    ORDER BY o.id;
-- None of these changes with an order's status: PostgreSQL then writes no index anew.
ALTER TABLE commission_states SET (fillfactor = 60); -- postgres
CREATE UNIQUE INDEX commission_states_order ON commission_states (order_sn, owner_id);
CREATE INDEX commission_states_day ON commission_states (day);
CREATE INDEX commission_states_dimension ON commission_states (dimension_id);

-- One row for each event that moved money, with its two to four lines: they add up
-- to 0 in each currency. Rows are never changed.
CREATE TABLE ledger_postings (
    id          /* sqlite: INTEGER PRIMARY KEY, -- */ BIGINT NOT NULL PRIMARY KEY,
    order_id    BIGINT  NOT NULL,
    version     BIGINT  NOT NULL,
    sequence    BIGINT  NOT NULL,
    kind        INTEGER NOT NULL,
    observed_at TEXT    NOT NULL,
    posted_on   INTEGER NOT NULL,
    previous    BIGINT  NOT NULL,
    corrects    BIGINT  NOT NULL,
    account_1   INTEGER NOT NULL,
    amount_1    BIGINT  NOT NULL,
    account_2   INTEGER NOT NULL,
    amount_2    BIGINT  NOT NULL,
    currency    INTEGER NOT NULL, -- of lines 1 and 2
    account_3   INTEGER NOT NULL, -- 0: there is no such line
    amount_3    BIGINT  NOT NULL,
    account_4   INTEGER NOT NULL,
    amount_4    BIGINT  NOT NULL,
    currency_3  INTEGER NOT NULL  -- of lines 3 and 4
);
INSERT INTO ledger_postings
    SELECT t.id, t.order_id, t.version, t.sequence, k.id, t.observed_at, CAST(REPLACE(t.posted_on, '-', '') AS INTEGER), t.previous, t.corrects,
        a1.id, e1.amount, a2.id, e2.amount, c1.id, COALESCE(a3.id, 0), COALESCE(e3.amount, 0), COALESCE(a4.id, 0), COALESCE(e4.amount, 0), COALESCE(c3.id, 0)
    FROM ledger_transactions t JOIN commission_texts k ON k.text = t.kind
        JOIN ledger_entries e1 ON e1.transaction_id = t.id AND e1.line = 1 JOIN commission_texts a1 ON a1.text = e1.ledger_account
        JOIN commission_texts c1 ON c1.text = e1.currency
        JOIN ledger_entries e2 ON e2.transaction_id = t.id AND e2.line = 2 JOIN commission_texts a2 ON a2.text = e2.ledger_account
        LEFT JOIN ledger_entries e3 ON e3.transaction_id = t.id AND e3.line = 3 LEFT JOIN commission_texts a3 ON a3.text = e3.ledger_account
        LEFT JOIN commission_texts c3 ON c3.text = e3.currency
        LEFT JOIN ledger_entries e4 ON e4.transaction_id = t.id AND e4.line = 4 LEFT JOIN commission_texts a4 ON a4.text = e4.ledger_account
    ORDER BY t.id;

-- Where a month's transactions stand, instead of an index.
ALTER TABLE ledger_balances ADD COLUMN first_transaction BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger_balances ADD COLUMN last_transaction BIGINT NOT NULL DEFAULT 0;
UPDATE ledger_balances SET first_transaction = s.first, last_transaction = s.last
    FROM (SELECT month, MIN(id) AS first, MAX(id) AS last FROM ledger_transactions GROUP BY month) AS s WHERE s.month = ledger_balances.month;

-- Orders, order amount and commission by day and what they count as.
CREATE TABLE commission_totals (
    -- 1: day of the order; 2: day of settlement; 3: day of posting, what that day changed.
    -- To that 3 for account and program alone, 6 for sub id, 9 for website, 12 for link. In full
    -- there is 3 only: by the other days the orders themselves are as few.
    kind         SMALLINT NOT NULL,
    day          INTEGER  NOT NULL,
    dimension_id BIGINT   NOT NULL,
    currency     INTEGER  NOT NULL,
    status       INTEGER  NOT NULL,
    orders       BIGINT   NOT NULL,
    order_amount BIGINT   NOT NULL,
    commission   BIGINT   NOT NULL,
    PRIMARY KEY (kind, day, dimension_id, currency, status)
) /* sqlite: WITHOUT ROWID */;
ALTER TABLE commission_totals SET (fillfactor = 60); -- postgres
INSERT INTO commission_totals
    SELECT s.kind, CASE s.day WHEN '' THEN 0 ELSE CAST(REPLACE(s.day, '-', '') AS INTEGER) END, s.dimension_id, c.id, t.id,
        s.orders, s.order_amount, s.commission
    FROM commission_sums s JOIN commission_texts c ON c.text = s.currency JOIN commission_texts t ON t.text = s.status WHERE s.kind > 2;
INSERT INTO commission_totals
    SELECT s.kind + 9, CASE s.day WHEN '' THEN 0 ELSE CAST(REPLACE(s.day, '-', '') AS INTEGER) END, w.id, c.id, t.id,
        SUM(s.orders), SUM(s.order_amount), SUM(s.commission)
    FROM commission_sums s JOIN commission_texts c ON c.text = s.currency JOIN commission_texts t ON t.text = s.status
        JOIN commission_dimensions d ON d.id = s.dimension_id
        JOIN commission_dimensions w ON w.account = d.account AND w.program_id = '' AND w.website_id = d.website_id AND w.sub_id = '' AND w.link_id = ''
    WHERE s.kind <= 3 GROUP BY s.kind, s.day, w.id, c.id, t.id;
INSERT INTO commission_totals
    SELECT s.kind + 12, CASE s.day WHEN '' THEN 0 ELSE CAST(REPLACE(s.day, '-', '') AS INTEGER) END, l.id, c.id, t.id,
        SUM(s.orders), SUM(s.order_amount), SUM(s.commission)
    FROM commission_sums s JOIN commission_texts c ON c.text = s.currency JOIN commission_texts t ON t.text = s.status
        JOIN commission_dimensions d ON d.id = s.dimension_id
        JOIN commission_dimensions l ON l.account = d.account AND l.program_id = '' AND l.website_id = '' AND l.sub_id = '' AND l.link_id = d.link_id
    WHERE s.kind <= 3 GROUP BY s.kind, s.day, l.id, c.id, t.id;

DROP TABLE commission_sums;
DROP TABLE ledger_entries;
DROP TABLE ledger_transactions;
DROP TABLE commission_orders;

-- With their texts, for people and for checks.
CREATE VIEW commission_orders AS
    SELECT o.id, d.account, d.program_id, o.order_sn, o.version, o.sequence, o.observed_at, o.vanished, n.text AS program_name,
        d.website_id, d.link_id, d.sub_id,
        CASE o.day WHEN 0 THEN '' ELSE SUBSTR(CAST(o.day AS TEXT), 1, 4) || '-' || SUBSTR(CAST(o.day AS TEXT), 5, 2) || '-' || SUBSTR(CAST(o.day AS TEXT), 7) END AS day,
        CASE o.charge_day WHEN 0 THEN '' ELSE SUBSTR(CAST(o.charge_day AS TEXT), 1, 4) || '-' || SUBSTR(CAST(o.charge_day AS TEXT), 5, 2) || '-' || SUBSTR(CAST(o.charge_day AS TEXT), 7) END AS charge_day,
        CASE o.approved_on WHEN 0 THEN '' ELSE SUBSTR(CAST(o.approved_on AS TEXT), 1, 4) || '-' || SUBSTR(CAST(o.approved_on AS TEXT), 5, 2) || '-' || SUBSTR(CAST(o.approved_on AS TEXT), 7) END AS approved_on,
        s.text AS status, c.text AS currency, o.order_amount, o.commission,
        e.text AS estimated_currency, o.estimated_amount, o.estimated_commission,
        a.text AS ledger_account, l.text AS ledger_currency, o.ledger_amount, o.last_transaction, o.closed_transaction, o.dimension_id
    FROM commission_states o JOIN commission_dimensions d ON d.id = o.dimension_id
        JOIN commission_texts n ON n.id = o.program_name JOIN commission_texts s ON s.id = o.status JOIN commission_texts c ON c.id = o.currency
        JOIN commission_texts e ON e.id = o.estimated_currency JOIN commission_texts a ON a.id = o.ledger_account
        JOIN commission_texts l ON l.id = o.ledger_currency;
CREATE VIEW ledger_transactions AS
    SELECT p.id, p.order_id, p.version, p.sequence, k.text AS kind, p.observed_at,
        SUBSTR(CAST(p.posted_on AS TEXT), 1, 4) || '-' || SUBSTR(CAST(p.posted_on AS TEXT), 5, 2) || '-' || SUBSTR(CAST(p.posted_on AS TEXT), 7) AS posted_on,
        SUBSTR(CAST(p.posted_on AS TEXT), 1, 4) || '-' || SUBSTR(CAST(p.posted_on AS TEXT), 5, 2) AS month, p.previous, p.corrects
    FROM ledger_postings p JOIN commission_texts k ON k.id = p.kind;
CREATE VIEW ledger_entries AS
    SELECT p.id AS transaction_id, p.line, a.text AS ledger_account, c.text AS currency, p.amount
    FROM (SELECT id, 1 AS line, account_1 AS account, currency, amount_1 AS amount FROM ledger_postings
        UNION ALL SELECT id, 2, account_2, currency, amount_2 FROM ledger_postings
        UNION ALL SELECT id, 3, account_3, currency_3, amount_3 FROM ledger_postings WHERE account_3 <> 0
        UNION ALL SELECT id, 4, account_4, currency_3, amount_4 FROM ledger_postings WHERE account_4 <> 0) AS p
        JOIN commission_texts a ON a.id = p.account JOIN commission_texts c ON c.id = p.currency;
CREATE VIEW commission_sums AS
    SELECT s.kind, CASE s.day WHEN 0 THEN '' ELSE SUBSTR(CAST(s.day AS TEXT), 1, 4) || '-' || SUBSTR(CAST(s.day AS TEXT), 5, 2) || '-' || SUBSTR(CAST(s.day AS TEXT), 7) END AS day,
        s.dimension_id, c.text AS currency, t.text AS status, s.orders, s.order_amount, s.commission
    FROM commission_totals s JOIN commission_texts c ON c.id = s.currency JOIN commission_texts t ON t.id = s.status;

-- +goose Down
CREATE TABLE old_orders (
    account              TEXT     NOT NULL,
    program_id           TEXT     NOT NULL,
    order_sn             TEXT     NOT NULL,
    version              BIGINT   NOT NULL,
    sequence             BIGINT   NOT NULL,
    observed_at          TEXT     NOT NULL,
    vanished             SMALLINT NOT NULL,
    program_name         TEXT     NOT NULL,
    website_id           TEXT     NOT NULL,
    link_id              TEXT     NOT NULL,
    sub_id               TEXT     NOT NULL,
    day                  TEXT     NOT NULL,
    charge_day           TEXT     NOT NULL,
    status               TEXT     NOT NULL,
    currency             TEXT     NOT NULL,
    order_amount         BIGINT   NOT NULL,
    commission           BIGINT   NOT NULL,
    estimated_currency   TEXT     NOT NULL,
    estimated_amount     BIGINT   NOT NULL,
    estimated_commission BIGINT   NOT NULL,
    confirmed_currency   TEXT     NOT NULL,
    confirmed_amount     BIGINT   NOT NULL,
    confirmed_commission BIGINT   NOT NULL,
    id                   BIGINT   NOT NULL DEFAULT 0,
    approved_on          TEXT     NOT NULL DEFAULT '',
    ledger_account       TEXT     NOT NULL DEFAULT '',
    ledger_currency      TEXT     NOT NULL DEFAULT '',
    ledger_amount        BIGINT   NOT NULL DEFAULT 0,
    last_transaction     BIGINT   NOT NULL DEFAULT 0,
    closed_transaction   BIGINT   NOT NULL DEFAULT 0,
    dimension_id         BIGINT   NOT NULL DEFAULT 0,
    PRIMARY KEY (account, program_id, order_sn)
);
INSERT INTO old_orders
    SELECT account, program_id, order_sn, version, sequence, observed_at, vanished, program_name, website_id, link_id, sub_id, day, charge_day,
        status, currency, order_amount, commission, estimated_currency, estimated_amount, estimated_commission,
        CASE WHEN status IN ('1', '2') THEN currency ELSE '' END, CASE WHEN status IN ('1', '2') THEN order_amount ELSE 0 END,
        CASE WHEN status IN ('1', '2') THEN commission ELSE 0 END,
        id, approved_on, ledger_account, ledger_currency, ledger_amount, last_transaction, closed_transaction, dimension_id
    FROM commission_orders;
CREATE TABLE old_transactions (
    id          BIGINT   NOT NULL PRIMARY KEY,
    order_id    BIGINT   NOT NULL,
    version     BIGINT   NOT NULL,
    sequence    BIGINT   NOT NULL,
    kind        TEXT     NOT NULL,
    observed_at TEXT     NOT NULL,
    posted_on   TEXT     NOT NULL,
    month       TEXT     NOT NULL,
    previous    BIGINT   NOT NULL,
    corrects    BIGINT   NOT NULL
) /* sqlite: WITHOUT ROWID */;
INSERT INTO old_transactions SELECT id, order_id, version, sequence, kind, observed_at, posted_on, month, previous, corrects FROM ledger_transactions;
CREATE TABLE old_entries (
    transaction_id BIGINT   NOT NULL,
    line           SMALLINT NOT NULL,
    ledger_account TEXT     NOT NULL,
    currency       TEXT     NOT NULL,
    amount         BIGINT   NOT NULL,
    PRIMARY KEY (transaction_id, line)
) /* sqlite: WITHOUT ROWID */;
INSERT INTO old_entries SELECT transaction_id, line, ledger_account, currency, amount FROM ledger_entries;
CREATE TABLE old_sums (
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
INSERT INTO old_sums SELECT kind, day, dimension_id, currency, status, orders, order_amount, commission FROM commission_sums WHERE kind <= 9;
INSERT INTO old_sums SELECT 1, day, dimension_id, currency, status, COUNT(*), SUM(order_amount), SUM(commission)
    FROM commission_orders GROUP BY day, dimension_id, currency, status;
INSERT INTO old_sums SELECT 2, charge_day, dimension_id, currency, status, COUNT(*), SUM(order_amount), SUM(commission)
    FROM commission_orders WHERE charge_day <> '' GROUP BY charge_day, dimension_id, currency, status;
DROP VIEW commission_sums;
DROP VIEW ledger_entries;
DROP VIEW ledger_transactions;
DROP VIEW commission_orders;
DROP TABLE commission_totals;
DROP TABLE ledger_postings;
DROP TABLE commission_states;
DROP TABLE commission_texts;
ALTER TABLE old_orders RENAME TO commission_orders;
ALTER TABLE old_transactions RENAME TO ledger_transactions;
ALTER TABLE old_entries RENAME TO ledger_entries;
ALTER TABLE old_sums RENAME TO commission_sums;
CREATE UNIQUE INDEX commission_orders_id ON commission_orders (id);
CREATE INDEX commission_orders_day ON commission_orders (day, account, program_id);
CREATE INDEX commission_orders_pending ON commission_orders (day) WHERE status = '0';
CREATE INDEX ledger_transactions_month ON ledger_transactions (month);
ALTER TABLE ledger_balances DROP COLUMN last_transaction;
ALTER TABLE ledger_balances DROP COLUMN first_transaction;
ALTER TABLE commission_position DROP COLUMN last_text;
