package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/orderwire/orderwire/schema"
)

// ErrTaken marks a key, name or website that belongs to somebody else.
var ErrTaken = errors.New("already taken, choose another one")

// Publisher is a media partner of the network: the publisher side of the API.
type Publisher struct {
	// Name tells publishers apart, at most 255 characters. Two keys with the
	// same name belong to one publisher. Empty means the owner of AppKey, and
	// for a new key a publisher with the key as its name.
	Name string
	// AppKey stands in the path of the requests: 1 to 64 letters, digits and
	// ". _ ~ -".
	AppKey string
	// AppSecret signs the requests, 1 to 255 characters. It is stored so that
	// signatures can be checked, and never shown again.
	AppSecret string
	// Websites are the WebsiteIds that the publisher promotes on, each at most
	// 255 characters. Those that it has already stay.
	Websites []string
}

// Advertiser is a brand: the advertiser side of the API. It has no operation
// yet, so every call with its key is refused with [StatusNoService].
type Advertiser struct {
	Name   string // as in [Publisher]
	AdsKey string // stands in the path of the requests, as AppKey of [Publisher]
}

// AddPublisher makes sure that the publisher, its key and its websites are
// there; a key that exists gets the secret. The error is a [*ConfigError] or
// [*schema.ParamError] for a field that is wrong, and wraps [ErrTaken] when the
// key or a website belongs to another publisher or advertiser.
func (s *Service) AddPublisher(ctx context.Context, p Publisher) error {
	if err := p.check(); err != nil {
		return err
	}
	return s.store.change(ctx, func(c *change) error {
		key, err := c.ownKey(ctx, publishers, p.Name, p.AppKey)
		if err != nil {
			return err
		}
		if err := c.saveKey(ctx, publishers, key, p.AppSecret); err != nil {
			return err
		}
		return c.addWebsites(ctx, key.owner, p.Websites)
	})
}

// AddAdvertiser makes sure that the advertiser and its key are there. Its
// errors are those of [Service.AddPublisher].
func (s *Service) AddAdvertiser(ctx context.Context, a Advertiser) error {
	if err := errors.Join(checkKey("AdsKey", a.AdsKey), schema.ValidateString("Name", a.Name)); err != nil {
		return err
	}
	return s.store.change(ctx, func(c *change) error {
		key, err := c.ownKey(ctx, advertisers, a.Name, a.AdsKey)
		if err != nil {
			return err
		}
		return c.saveKey(ctx, advertisers, key, "")
	})
}

func (p Publisher) check() error {
	errs := []error{
		checkKey("AppKey", p.AppKey), schema.ValidateString("AppSecret", p.AppSecret), schema.ValidateString("Name", p.Name),
	}
	if p.AppSecret == "" {
		errs = append(errs, &ConfigError{"AppSecret", "empty, give the secret that signs the requests"})
	}
	for _, id := range p.Websites {
		errs = append(errs, schema.ValidateString("Websites", id))
		if id == "" {
			errs = append(errs, &ConfigError{"Websites", "an empty WebsiteId, give an identifier"})
		}
	}
	return errors.Join(errs...)
}

// side is one of the two sides of the API in SQL.
type side struct{ table, column, noun string }

var (
	publishers  = side{"publishers", "publisher_id", "publisher"}
	advertisers = side{"advertisers", "advertiser_id", "brand"}
)

// accessKey is a key of the path with its owner; owner is 0 before it exists.
type accessKey struct {
	text  string
	owner int64
	isNew bool
}

// ownKey finds the owner of a key, or the owner with that name, or makes one.
func (c *change) ownKey(ctx context.Context, sd side, name, key string) (accessKey, error) {
	var owner sql.Null[int64]
	known, err := c.found(ctx, `SELECT `+sd.column+` FROM access_keys WHERE access_key = ?`, []any{key}, &owner)
	if err != nil {
		return accessKey{}, fmt.Errorf("key: %w", err)
	}
	if known && !owner.Valid {
		return accessKey{}, fmt.Errorf("key: %w", ErrTaken)
	}
	k := accessKey{text: key, owner: owner.V, isNew: !known}
	if name == "" {
		if known {
			return k, nil
		}
		name = key
	}
	id, err := c.named(ctx, sd, name)
	if err == nil && known && id != k.owner {
		return accessKey{}, fmt.Errorf("key: %w", ErrTaken)
	}
	k.owner = id
	return k, err
}

// named returns the owner with a name, a new one if there is none.
func (c *change) named(ctx context.Context, sd side, name string) (int64, error) {
	var id int64
	known, err := c.found(ctx, `SELECT id FROM `+sd.table+` WHERE name = ?`, []any{name}, &id)
	if known || err != nil {
		return id, err
	}
	c.counters.owner++
	return c.counters.owner, c.exec(ctx, `INSERT INTO `+sd.table+` (id, name, created_at) VALUES (?, ?, ?)`,
		c.counters.owner, name, c.now)
}

// saveKey makes sure that the key is there and that its newest secret is the
// given one, "" for a key without.
func (c *change) saveKey(ctx context.Context, sd side, k accessKey, secret string) error {
	if k.isNew {
		err := c.exec(ctx, `INSERT INTO access_keys (access_key, `+sd.column+`, created_at, updated_at)
			VALUES (?, ?, ?, ?)`, k.text, k.owner, c.now, c.now)
		if err != nil {
			return err
		}
	}
	if secret == "" {
		return nil
	}
	return c.setSecret(ctx, k.text, secret)
}

// setSecret makes a secret the only one of a key, at once. Nothing changes when
// it is the newest one already, so secrets that it is replacing stay valid for
// as long as that was decided.
func (c *change) setSecret(ctx context.Context, key, secret string) error {
	newest, err := c.newestSecret(ctx, key)
	if err != nil || newest.valid && newest.secret == secret {
		return err
	}
	return c.replaceSecret(ctx, key, newest.number, secret, c.now)
}

func (c *change) addWebsites(ctx context.Context, publisher int64, ids []string) error {
	for _, id := range ids {
		var owner int64
		known, err := c.found(ctx, `SELECT publisher_id FROM websites WHERE id = ?`, []any{id}, &owner)
		switch {
		case err != nil:
			return fmt.Errorf("website: %w", err)
		case known && owner != publisher:
			return fmt.Errorf("website: %w", ErrTaken)
		case known:
			continue
		}
		if err := c.exec(ctx, `INSERT INTO websites (id, publisher_id, created_at) VALUES (?, ?, ?)`, id, publisher, c.now); err != nil {
			return err
		}
	}
	return nil
}
