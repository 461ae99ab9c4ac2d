-- +goose Up

-- What makes the service the platform itself: brands with programs, rates and
-- materials, clicks that lead from a link to an order, secrets that can be
-- changed without an outage, settlement changes.

-- The secrets of an App Key. Several are valid while one replaces another.
CREATE TABLE key_secrets (
    access_key TEXT COLLATE "C" NOT NULL REFERENCES access_keys (access_key),
    number     BIGINT NOT NULL, -- 1, 2, 3 ... within the key
    secret     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT, -- not valid from then on; null for the newest one
    PRIMARY KEY (access_key, number)
);
INSERT INTO key_secrets SELECT access_key, 1, secret, created_at, NULL FROM access_keys WHERE secret <> '';
ALTER TABLE access_keys DROP COLUMN secret;
ALTER TABLE access_keys ADD COLUMN disabled_at BIGINT; -- null for a key that is in use

-- A program without an advertiser is one of the simulation.
ALTER TABLE programs ADD COLUMN advertiser_id BIGINT REFERENCES advertisers (id);
ALTER TABLE programs ADD COLUMN description TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE programs ADD COLUMN category TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE programs ADD COLUMN status TEXT COLLATE "C" NOT NULL DEFAULT 'open'; -- or 'closed': no new links and orders
ALTER TABLE programs ADD COLUMN exchange_rate TEXT COLLATE "C" NOT NULL DEFAULT '1'; -- charge_currency for one of currency, a decimal
ALTER TABLE programs ADD COLUMN click_days BIGINT NOT NULL DEFAULT 30; -- how long a click is good for an order
ALTER TABLE programs ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0;
UPDATE programs SET updated_at = created_at, exchange_rate =
    CASE WHEN currency = charge_currency THEN '1' WHEN currency = 'USD' THEN '7.1' ELSE '0.1408' END;
CREATE INDEX programs_advertiser ON programs (advertiser_id, id);

-- Where the links of a program may lead: a domain stands for its subdomains.
CREATE TABLE program_domains (
    program_id TEXT COLLATE "C" NOT NULL REFERENCES programs (id),
    domain     TEXT COLLATE "C" NOT NULL, -- lower case, as in DNS
    PRIMARY KEY (program_id, domain)
);
INSERT INTO program_domains SELECT id, domain FROM programs;
CREATE INDEX program_domains_domain ON program_domains (domain);

-- The commission of an order line: the rate of its category, or of '' for all
-- others.
CREATE TABLE commission_rates (
    program_id TEXT COLLATE "C" NOT NULL REFERENCES programs (id),
    category   TEXT COLLATE "C" NOT NULL, -- CateId of the line, '' for every other one
    kind       TEXT COLLATE "C" NOT NULL CHECK (kind IN ('percent', 'fixed')),
    value      BIGINT NOT NULL, -- hundredths of a percent; or hundredths of the currency for each item
    PRIMARY KEY (program_id, category)
);
INSERT INTO commission_rates SELECT id, '', 'percent', commission_rate FROM programs;

CREATE TABLE materials (
    id         TEXT COLLATE "C" PRIMARY KEY,
    program_id TEXT COLLATE "C" NOT NULL REFERENCES programs (id),
    kind       TEXT COLLATE "C" NOT NULL, -- banner, text, coupon
    title      TEXT COLLATE "C" NOT NULL,
    body       TEXT COLLATE "C" NOT NULL, -- address of the picture, the text, or the coupon's code
    target     TEXT COLLATE "C" NOT NULL, -- address that it advertises
    width      BIGINT NOT NULL, -- pixels, 0 for what has none
    height     BIGINT NOT NULL,
    starts_at  BIGINT, -- null: always
    ends_at    BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX materials_program ON materials (program_id, id);

-- A link belongs to a program and has a sub id of its own.
ALTER TABLE links ADD COLUMN program_id TEXT COLLATE "C" NOT NULL DEFAULT ''; -- '' for one from before programs had domains
ALTER TABLE links ADD COLUMN sub_id TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE links DROP CONSTRAINT links_website_id_url_key;
ALTER TABLE links ADD UNIQUE (website_id, url, sub_id);

CREATE TABLE clicks (
    id           TEXT COLLATE "C" PRIMARY KEY, -- as it stands in the target address
    link_id      BIGINT NOT NULL REFERENCES links (id),
    publisher_id BIGINT NOT NULL,
    website_id   TEXT COLLATE "C" NOT NULL,
    program_id   TEXT COLLATE "C" NOT NULL,
    sub_id       TEXT COLLATE "C" NOT NULL,
    at           BIGINT NOT NULL
);
CREATE INDEX clicks_publisher ON clicks (publisher_id, at);

ALTER TABLE orders ADD COLUMN click_id TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN promo_code TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN new_customer INTEGER NOT NULL DEFAULT 0;
CREATE INDEX orders_program ON orders (program_id, updated_at, id);

-- What a change of the confirmed amounts was, in hundredths of charge_currency.
CREATE TABLE settlement_changes (
    seq                    BIGINT PRIMARY KEY, -- of the line of order_history
    order_id               BIGINT NOT NULL REFERENCES orders (id),
    publisher_id           BIGINT NOT NULL,
    at                     BIGINT NOT NULL,
    price_before           BIGINT NOT NULL, -- 0 for the first settlement
    price                  BIGINT NOT NULL,
    commission_before      BIGINT NOT NULL,
    commission             BIGINT NOT NULL,
    charge_currency        TEXT COLLATE "C" NOT NULL
);
CREATE INDEX settlement_changes_publisher ON settlement_changes (publisher_id, at, seq);

-- +goose Down
DROP TABLE settlement_changes;
DROP INDEX orders_program;
ALTER TABLE orders DROP COLUMN new_customer;
ALTER TABLE orders DROP COLUMN promo_code;
ALTER TABLE orders DROP COLUMN click_id;
DROP TABLE clicks;
DELETE FROM links WHERE id NOT IN (SELECT MIN(id) FROM links GROUP BY website_id, url);
ALTER TABLE links DROP COLUMN sub_id; -- and with it the constraint
ALTER TABLE links DROP COLUMN program_id;
ALTER TABLE links ADD UNIQUE (website_id, url);
DROP TABLE materials;
DROP TABLE commission_rates;
DROP TABLE program_domains;
DROP INDEX programs_advertiser;
ALTER TABLE programs DROP COLUMN updated_at;
ALTER TABLE programs DROP COLUMN click_days;
ALTER TABLE programs DROP COLUMN exchange_rate;
ALTER TABLE programs DROP COLUMN status;
ALTER TABLE programs DROP COLUMN category;
ALTER TABLE programs DROP COLUMN description;
ALTER TABLE programs DROP COLUMN advertiser_id;
ALTER TABLE access_keys DROP COLUMN disabled_at;
ALTER TABLE access_keys ADD COLUMN secret TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE access_keys SET secret = COALESCE((SELECT secret FROM key_secrets s
    WHERE s.access_key = access_keys.access_key AND s.expires_at IS NULL), '');
DROP TABLE key_secrets;
