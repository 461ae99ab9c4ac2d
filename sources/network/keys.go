package network

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// NewKey asks for an App Key of a publisher.
type NewKey struct {
	Publisher string // name of the publisher, which has to be there
	AppKey    string // a random one when empty, else as in [Publisher]
	AppSecret string // a random one when empty, else as in [Publisher]
}

// Credentials are an App Key and its secret. This is the only time that the
// secret is shown.
type Credentials struct {
	AppKey    string `json:"app_key"`
	AppSecret string `json:"app_secret"`
}

// Key is what is known of a key of either side; a secret is not shown again.
type Key struct {
	Key       string     `json:"key"`
	Side      string     `json:"side"`    // publisher or brand
	Owner     string     `json:"owner"`   // name of the publisher or brand
	Secrets   int64      `json:"secrets"` // that are valid now, 0 for an ADS_KEY
	Created   time.Time  `json:"created"`
	Changed   time.Time  `json:"changed"` // when a secret was set, or the key disabled or enabled
	Disabled  *time.Time `json:"disabled,omitzero"`
	publisher bool
}

// CreateKey makes an App Key. The error is a [*ConfigError] or
// [*schema.ParamError] for a field that is wrong, and wraps [ErrNotFound] for a
// publisher that is not there, and [ErrTaken] for a key that is.
func (s *Service) CreateKey(ctx context.Context, k NewKey) (Credentials, error) {
	made := Credentials{cmp.Or(k.AppKey, randomKey()), cmp.Or(k.AppSecret, rand.Text())}
	if err := errors.Join(checkKey("AppKey", made.AppKey), checkSecret(made.AppSecret)); err != nil {
		return Credentials{}, err
	}
	return made, s.store.change(ctx, func(c *change) error {
		owner, err := c.ownerNamed(ctx, publishers, k.Publisher)
		if err != nil {
			return err
		}
		return c.createKey(ctx, publishers, owner, made.AppKey, made.AppSecret)
	})
}

// RotateSecret gives an App Key a new secret, a random one when it is empty, and
// returns it. The secrets before it stay valid for the overlap: for a client that
// has not changed over yet. An overlap of 0 ends them at once. The error is a
// [*ConfigError] or [*schema.ParamError], or wraps [ErrNotFound].
func (s *Service) RotateSecret(ctx context.Context, key, secret string, overlap time.Duration) (Credentials, error) {
	made := Credentials{key, cmp.Or(secret, rand.Text())}
	err := checkSecret(made.AppSecret)
	if overlap < 0 {
		err = errors.Join(err, &ConfigError{"Overlap", "negative, give how long the secret before stays valid"})
	}
	if err != nil {
		return Credentials{}, err
	}
	return made, s.store.change(ctx, func(c *change) error {
		k, err := c.key(ctx, key)
		if err != nil {
			return err
		}
		if !k.publisher {
			return &ConfigError{"AppKey", "an ADS_KEY has no secret, make another key and disable this one"}
		}
		newest, err := c.newestSecret(ctx, key)
		if err != nil {
			return err
		}
		if newest.valid && newest.secret == made.AppSecret {
			return &ConfigError{"AppSecret", "the same as before, give another one"}
		}
		return c.replaceSecret(ctx, key, newest.number, made.AppSecret, c.now+int64((overlap+time.Second-1)/time.Second))
	})
}

// DisableKey ends the access of a key of either side, at once. The error wraps
// [ErrNotFound] for a key that is not there.
func (s *Service) DisableKey(ctx context.Context, key string) error {
	return s.switchKey(ctx, key, `UPDATE access_keys SET disabled_at = ?, updated_at = ? WHERE access_key = ? AND disabled_at IS NULL`,
		func(now int64) []any { return []any{now, now, key} })
}

// EnableKey gives a key the access back that [Service.DisableKey] took.
func (s *Service) EnableKey(ctx context.Context, key string) error {
	return s.switchKey(ctx, key, `UPDATE access_keys SET disabled_at = NULL, updated_at = ? WHERE access_key = ? AND disabled_at IS NOT NULL`,
		func(now int64) []any { return []any{now, key} })
}

func (s *Service) switchKey(ctx context.Context, key, statement string, args func(now int64) []any) error {
	return s.store.change(ctx, func(c *change) error {
		if _, err := c.key(ctx, key); err != nil {
			return err
		}
		return c.exec(ctx, statement, args(c.now)...)
	})
}

const keysQuery = `SELECT k.access_key, k.publisher_id IS NOT NULL, COALESCE(p.name, a.name), k.created_at, k.updated_at, k.disabled_at,
	(SELECT COUNT(*) FROM key_secrets s WHERE s.access_key = k.access_key AND (s.expires_at IS NULL OR s.expires_at > ?))
	FROM access_keys k LEFT JOIN publishers p ON p.id = k.publisher_id LEFT JOIN advertisers a ON a.id = k.advertiser_id
	ORDER BY 2 DESC, 3, 1`

// Keys returns all keys: those of publishers, then those of brands, by the name
// of the owner. An owner that is not "" is the only one.
func (s *Service) Keys(ctx context.Context, owner string) ([]Key, error) {
	all, err := listOf(ctx, s.store, keysQuery, []any{s.unix()}, func(scan scanner) (k Key, err error) {
		var created, changed int64
		var disabled sql.Null[int64]
		err = scan(&k.Key, &k.publisher, &k.Owner, &created, &changed, &disabled, &k.Secrets)
		k.Side, k.Created, k.Changed, k.Disabled = "brand", instant(created), instant(changed), optionalInstant(disabled)
		if k.publisher {
			k.Side = "publisher"
		}
		return k, err
	})
	var some []Key
	for _, k := range all {
		if owner == "" || k.Owner == owner {
			some = append(some, k)
		}
	}
	return some, err
}

// checkSecret accepts what can sign.
func checkSecret(secret string) error {
	if secret == "" {
		return &ConfigError{"AppSecret", "empty, give the secret that signs the requests"}
	}
	return schema.ValidateString("AppSecret", secret)
}

// randomKey is 16 letters and digits: 80 bits, so that nobody guesses an
// ADS_KEY, which alone gives access.
func randomKey() string { return strings.ToLower(rand.Text()[:16]) }

// key finds a key of either side.
func (c *change) key(ctx context.Context, key string) (Key, error) {
	k := Key{Key: key}
	known, err := c.found(ctx, `SELECT publisher_id IS NOT NULL FROM access_keys WHERE access_key = ?`, []any{key}, &k.publisher)
	if err == nil && !known {
		err = fmt.Errorf("key: %w", ErrNotFound)
	}
	return k, err
}

// createKey adds a key, which must be new, with its secret, "" for none.
func (c *change) createKey(ctx context.Context, sd side, owner int64, key, secret string) error {
	switch _, err := c.key(ctx, key); {
	case err == nil:
		return fmt.Errorf("key: %w", ErrTaken)
	case !errors.Is(err, ErrNotFound):
		return err
	}
	return c.saveKey(ctx, sd, accessKey{text: key, owner: owner, isNew: true}, secret)
}

// keySecret is a row of key_secrets. Its number is 0 when there is none.
type keySecret struct {
	number int64
	secret string
	valid  bool // now, and without end
}

// newestSecret finds the secret that was set last, expired or not.
func (c *change) newestSecret(ctx context.Context, key string) (keySecret, error) {
	var n keySecret
	_, err := c.found(ctx, `SELECT number, secret, expires_at IS NULL FROM key_secrets WHERE access_key = ? ORDER BY number DESC LIMIT 1`,
		[]any{key}, &n.number, &n.secret, &n.valid)
	if err != nil {
		return keySecret{}, fmt.Errorf("newest secret: %w", err)
	}
	return n, nil
}

// replaceSecret adds a secret behind the one with a number. No other one is
// valid beyond a time in Unix seconds.
func (c *change) replaceSecret(ctx context.Context, key string, number int64, secret string, until int64) error {
	err := c.exec(ctx, `UPDATE key_secrets SET expires_at = ? WHERE access_key = ? AND (expires_at IS NULL OR expires_at > ?)`,
		until, key, until)
	if err != nil {
		return err
	}
	if err := c.exec(ctx, `UPDATE access_keys SET updated_at = ? WHERE access_key = ?`, c.now, key); err != nil {
		return err
	}
	return c.exec(ctx, `INSERT INTO key_secrets (access_key, number, secret, created_at) VALUES (?, ?, ?, ?)`,
		key, number+1, secret, c.now)
}
