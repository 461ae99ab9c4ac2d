-- +goose Up

-- Where a publisher wants to be told about its orders: one address at most.
CREATE TABLE push_targets (
    publisher_id BIGINT PRIMARY KEY REFERENCES publishers (id),
    access_key   TEXT COLLATE "C" NOT NULL REFERENCES access_keys (access_key), -- whose newest secret signs
    url          TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);

-- What a publisher is still to be told, and for a while what it could not be
-- told. A push that was received is deleted.
CREATE TABLE push_queue (
    seq          BIGINT PRIMARY KEY, -- of the line of order_history
    publisher_id BIGINT NOT NULL,
    order_id     BIGINT NOT NULL,
    event        TEXT COLLATE "C" NOT NULL,      -- created, confirmed, approved, invalid
    head         TEXT COLLATE "C" NOT NULL,      -- the order's record then, as in orders.head
    queued_at    BIGINT NOT NULL,
    attempts     BIGINT NOT NULL,    -- made so far
    due          BIGINT NOT NULL,    -- of the next attempt, Unix milliseconds of the machine's clock
    reason       TEXT COLLATE "C" NOT NULL,      -- why the last attempt failed, '' before
    failed_at    BIGINT              -- given up then; null while it is to be sent
);
CREATE INDEX push_queue_due ON push_queue (publisher_id, due, seq) WHERE failed_at IS NULL;
CREATE INDEX push_queue_order ON push_queue (order_id, seq) WHERE failed_at IS NULL;
CREATE INDEX push_queue_failed ON push_queue (failed_at, seq) WHERE failed_at IS NOT NULL;

-- +goose Down
DROP TABLE push_queue;
DROP TABLE push_targets;
