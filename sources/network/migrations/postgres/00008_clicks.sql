-- +goose Up

-- Clicks of the simulation stand with the order that came of one of them, and count
-- on its day: they take no rows of their own. 0 for orders that nobody simulated.
ALTER TABLE orders ADD COLUMN simulated_clicks BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE orders DROP COLUMN simulated_clicks;
