-- What each day of posting changed, in full, version 5: written behind each other
-- as one text instead of a row each, since there are nearly as many as events.

-- +goose Up

CREATE TABLE commission_changes (
    day     INTEGER NOT NULL, -- of posting
    part    BIGINT  NOT NULL, -- of the day: the events of a stretch of the log
    -- JSON arrays of dimension_id, currency, status, orders, order_amount and commission, with
    -- commas between them. What stands in several of them is added up.
    entries TEXT    NOT NULL,
    PRIMARY KEY (day, part)
);
ALTER TABLE commission_changes ALTER COLUMN entries SET STORAGE EXTERNAL; -- postgres
INSERT INTO commission_changes (day, part, entries)
    SELECT day, 0, STRING_AGG('[' || dimension_id || ',' || currency || ',' || status || ',' || orders || ',' || order_amount || ',' || commission || ']', ',')
    FROM commission_totals WHERE kind = 3 AND (orders <> 0 OR order_amount <> 0 OR commission <> 0) GROUP BY day;
DELETE FROM commission_totals WHERE kind = 3;

DROP VIEW commission_sums;
CREATE VIEW commission_sums AS
    SELECT s.kind, CASE s.day WHEN 0 THEN '' ELSE SUBSTR(CAST(s.day AS TEXT), 1, 4) || '-' || SUBSTR(CAST(s.day AS TEXT), 5, 2) || '-' || SUBSTR(CAST(s.day AS TEXT), 7) END AS day,
        s.dimension_id, c.text AS currency, t.text AS status, s.orders, s.order_amount, s.commission
    FROM commission_totals s JOIN commission_texts c ON c.id = s.currency JOIN commission_texts t ON t.id = s.status
    UNION ALL SELECT 3, SUBSTR(CAST(s.day AS TEXT), 1, 4) || '-' || SUBSTR(CAST(s.day AS TEXT), 5, 2) || '-' || SUBSTR(CAST(s.day AS TEXT), 7),
        s.dimension_id, c.text, t.text, s.orders, s.order_amount, s.commission
    FROM (SELECT p.day, CAST(e.value ->> 0 AS BIGINT) AS dimension_id, CAST(e.value ->> 1 AS INTEGER) AS currency, CAST(e.value ->> 2 AS INTEGER) AS status,
            CAST(e.value ->> 3 AS BIGINT) AS orders, CAST(e.value ->> 4 AS BIGINT) AS order_amount, CAST(e.value ->> 5 AS BIGINT) AS commission
        FROM commission_changes p, /* sqlite: json_each('[' || p.entries || ']') e -- */ json_array_elements(CAST('[' || p.entries || ']' AS JSON)) e
        ) AS s JOIN commission_texts c ON c.id = s.currency JOIN commission_texts t ON t.id = s.status;

-- +goose Down
INSERT INTO commission_totals (kind, day, dimension_id, currency, status, orders, order_amount, commission)
    SELECT 3, p.day, CAST(e.value ->> 0 AS BIGINT), CAST(e.value ->> 1 AS INTEGER), CAST(e.value ->> 2 AS INTEGER),
        SUM(CAST(e.value ->> 3 AS BIGINT)), SUM(CAST(e.value ->> 4 AS BIGINT)), SUM(CAST(e.value ->> 5 AS BIGINT))
    FROM commission_changes p, /* sqlite: json_each('[' || p.entries || ']') e -- */ json_array_elements(CAST('[' || p.entries || ']' AS JSON)) e
    GROUP BY 2, 3, 4, 5;
DROP VIEW commission_sums;
DROP TABLE commission_changes;
CREATE VIEW commission_sums AS
    SELECT s.kind, CASE s.day WHEN 0 THEN '' ELSE SUBSTR(CAST(s.day AS TEXT), 1, 4) || '-' || SUBSTR(CAST(s.day AS TEXT), 5, 2) || '-' || SUBSTR(CAST(s.day AS TEXT), 7) END AS day,
        s.dimension_id, c.text AS currency, t.text AS status, s.orders, s.order_amount, s.commission
    FROM commission_totals s JOIN commission_texts c ON c.id = s.currency JOIN commission_texts t ON t.id = s.status;
