-- +goose Up

-- What makes the pages of a list cheap: each order keeps the beginning of its
-- record as the API shows it, and the orders of each minute are counted.

-- The record of an order up to its lines, without the closing brace. A time
-- stands in it as char(31) and Unix seconds, because how it is shown is a
-- setting of the service.
ALTER TABLE orders ADD COLUMN head TEXT NOT NULL DEFAULT '';
UPDATE orders SET head = '{"Id":"' || id || '"'
    || CASE program_id WHEN '' THEN '' ELSE ',"ProgramId":' || json_quote(program_id) END
    || CASE program_name WHEN '' THEN '' ELSE ',"ProgramName":' || json_quote(program_name) END
    || CASE website_id WHEN '' THEN '' ELSE ',"WebsiteId":' || json_quote(website_id) END
    || CASE link_id WHEN '' THEN '' ELSE ',"LinkId":' || json_quote(link_id) END
    || CASE sub_id WHEN '' THEN '' ELSE ',"SubId":' || json_quote(sub_id) END
    || CASE order_sn WHEN '' THEN '' ELSE ',"OrderSn":' || json_quote(order_sn) END
    || CASE parent_order_sn WHEN '' THEN '' ELSE ',"ParentOrderSn":' || json_quote(parent_order_sn) END
    || ',"OrderTime":"' || char(31) || order_time
    || printf('","OrdersPrice":"%s%d.%02d","SiterCommission":"%s%d.%02d"',
        iif(orders_cents < 0, '-', ''), abs(orders_cents) / 100, abs(orders_cents) % 100,
        iif(commission_cents < 0, '-', ''), abs(commission_cents) / 100, abs(commission_cents) % 100)
    || CASE currency WHEN '' THEN '' ELSE ',"Currency":' || json_quote(currency) END
    || ',"Status":"' || status || '"'
    || CASE WHEN charge_time IS NULL THEN '' ELSE
        printf(',"ConfirmPrice":"%s%d.%02d","ConfirmSiterCommission":"%s%d.%02d"',
            iif(confirm_cents < 0, '-', ''), abs(confirm_cents) / 100, abs(confirm_cents) % 100,
            iif(confirm_commission_cents < 0, '-', ''), abs(confirm_commission_cents) / 100,
            abs(confirm_commission_cents) % 100)
        || CASE charge_currency WHEN '' THEN '' ELSE ',"ChargeCurrency":' || json_quote(charge_currency) END
        || ',"ChargeTime":"' || char(31) || charge_time || '"' END;

-- How many orders of a publisher have a time in a minute (Unix seconds / 60).
CREATE TABLE order_counts (
    publisher_id BIGINT NOT NULL,
    field        TEXT NOT NULL, -- column of orders that holds the time
    minute       BIGINT NOT NULL,
    orders       BIGINT NOT NULL,
    PRIMARY KEY (publisher_id, field, minute)
) WITHOUT ROWID;
INSERT INTO order_counts
    SELECT publisher_id, 'updated_at', updated_at / 60, COUNT(*) FROM orders GROUP BY 1, 3
    UNION ALL SELECT publisher_id, 'order_time', order_time / 60, COUNT(*) FROM orders GROUP BY 1, 3
    UNION ALL SELECT publisher_id, 'charge_time', charge_time / 60, COUNT(*) FROM orders
        WHERE charge_time IS NOT NULL GROUP BY 1, 3;

-- +goose Down
DROP TABLE order_counts;
ALTER TABLE orders DROP COLUMN head;
