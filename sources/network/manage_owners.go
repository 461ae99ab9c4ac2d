package network

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// PublisherAccount is a publisher as the management lists it.
type PublisherAccount struct {
	ID       int64     `json:"id"`
	Name     string    `json:"name"`
	Websites int64     `json:"websites"` // how many
	Keys     int64     `json:"keys"`     // that are not disabled
	Created  time.Time `json:"created"`
}

// Brand is an advertiser as the management lists it.
type Brand struct {
	ID       int64     `json:"id"`
	Name     string    `json:"name"`
	Programs int64     `json:"programs"` // how many, open or closed
	Keys     int64     `json:"keys"`     // that are not disabled
	Created  time.Time `json:"created"`
}

// Website is where a publisher promotes.
type Website struct {
	ID        string    `json:"id"`
	Publisher string    `json:"publisher"` // name
	Created   time.Time `json:"created"`
}

// CreatePublisher adds a publisher without a key. The error is a [*ConfigError]
// for a field that is wrong, and wraps [ErrTaken] for a name or a website that
// is there already.
func (s *Service) CreatePublisher(ctx context.Context, name string, websites ...string) error {
	if err := errors.Join(checkName("Name", name), checkWebsites(websites)); err != nil {
		return err
	}
	return s.store.change(ctx, func(c *change) error {
		id, err := c.createOwner(ctx, publishers, name)
		if err != nil {
			return err
		}
		return c.addWebsites(ctx, id, websites)
	})
}

// AddWebsites adds websites to a publisher; those that it has stay. The error is
// a [*ConfigError], or wraps [ErrNotFound] or [ErrTaken].
func (s *Service) AddWebsites(ctx context.Context, publisher string, ids ...string) error {
	if len(ids) == 0 {
		return &ConfigError{"Websites", "none, give a WebsiteId"}
	}
	if err := checkWebsites(ids); err != nil {
		return err
	}
	return s.store.change(ctx, func(c *change) error {
		id, err := c.ownerNamed(ctx, publishers, publisher)
		if err != nil {
			return err
		}
		return c.addWebsites(ctx, id, ids)
	})
}

// Websites returns the websites of a publisher, of all when the name is "", by
// publisher and id. The error wraps [ErrNotFound] for a publisher that is not
// there.
func (s *Service) Websites(ctx context.Context, publisher string) ([]Website, error) {
	if err := s.mustKnow(ctx, publishers, publisher); err != nil {
		return nil, err
	}
	return listOf(ctx, s.store, `SELECT w.id, p.name, w.created_at FROM websites w JOIN publishers p ON p.id = w.publisher_id
		WHERE p.name = ? OR ? = '' ORDER BY p.name, w.id`, []any{publisher, publisher}, func(scan scanner) (w Website, err error) {
		var created int64
		err = scan(&w.ID, &w.Publisher, &created)
		w.Created = instant(created)
		return w, err
	})
}

// mustKnow checks a name; "" stands for all.
func (s *Service) mustKnow(ctx context.Context, sd side, name string) error {
	if name == "" {
		return nil
	}
	var n int64
	if err := s.store.row(ctx, `SELECT COUNT(*) FROM `+sd.table+` WHERE name = ?`, []any{name}, &n); err != nil {
		return fmt.Errorf("look a name up: %w", err)
	}
	if n == 0 {
		return fmt.Errorf("%s %q: %w", sd.noun, name, ErrNotFound)
	}
	return nil
}

// Publishers returns all publishers by name.
func (s *Service) Publishers(ctx context.Context) ([]PublisherAccount, error) {
	return listOf(ctx, s.store, ownersQuery(publishers, "websites"), nil, func(scan scanner) (p PublisherAccount, err error) {
		var created int64
		err = scan(&p.ID, &p.Name, &created, &p.Keys, &p.Websites)
		p.Created = instant(created)
		return p, err
	})
}

// Brands returns all brands by name.
func (s *Service) Brands(ctx context.Context) ([]Brand, error) {
	return listOf(ctx, s.store, ownersQuery(advertisers, "programs"), nil, func(scan scanner) (b Brand, err error) {
		var created int64
		err = scan(&b.ID, &b.Name, &created, &b.Keys, &b.Programs)
		b.Created = instant(created)
		return b, err
	})
}

// ownersQuery lists publishers or advertisers and counts what they have.
func ownersQuery(sd side, belongings string) string {
	return `SELECT id, name, created_at,
		(SELECT COUNT(*) FROM access_keys k WHERE k.` + sd.column + ` = o.id AND k.disabled_at IS NULL),
		(SELECT COUNT(*) FROM ` + belongings + ` b WHERE b.` + sd.column + ` = o.id)
		FROM ` + sd.table + ` o ORDER BY name`
}

// CreateBrand adds a brand with an ADS_KEY, a random one when it is empty, and
// returns the key. The error is a [*ConfigError], or wraps [ErrTaken].
func (s *Service) CreateBrand(ctx context.Context, name, adsKey string) (string, error) {
	return s.brandKey(ctx, name, adsKey, (*change).createOwner)
}

// CreateBrandKey gives a brand that is there a further ADS_KEY, a random one when
// it is empty, and returns it. The error is a [*ConfigError], or wraps
// [ErrNotFound] or [ErrTaken].
func (s *Service) CreateBrandKey(ctx context.Context, name, adsKey string) (string, error) {
	return s.brandKey(ctx, name, adsKey, (*change).ownerNamed)
}

func (s *Service) brandKey(ctx context.Context, name, key string, owner func(*change, context.Context, side, string) (int64, error)) (string, error) {
	if key == "" {
		key = randomKey()
	}
	if err := errors.Join(checkName("Name", name), checkKey("AdsKey", key)); err != nil {
		return "", err
	}
	return key, s.store.change(ctx, func(c *change) error {
		id, err := owner(c, ctx, advertisers, name)
		if err != nil {
			return err
		}
		return c.createKey(ctx, advertisers, id, key, "")
	})
}

func checkWebsites(ids []string) error {
	var errs []error
	for _, id := range ids {
		errs = append(errs, checkName("Websites", id))
	}
	return errors.Join(errs...)
}
