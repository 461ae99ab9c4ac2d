-- +goose Up

-- What a brand has confirmed of an order, in the order's currency, so that the
-- same report is known again when the exchange rate is another one.
ALTER TABLE orders ADD COLUMN confirmed_cents BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE orders DROP COLUMN confirmed_cents;
