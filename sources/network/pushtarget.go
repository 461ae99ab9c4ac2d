package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// ErrPushKey says that an App Key belongs to no publisher, or is not in use.
var ErrPushKey = errors.New("no publisher uses this App Key")

// ErrNoPushTarget says that a publisher has no address for pushes.
var ErrNoPushTarget = errors.New("the publisher has no address for pushes, set one")

// PushTarget is the address where a publisher is told about its orders.
type PushTarget struct {
	Publisher string `json:"publisher"` // name
	AppKey    string `json:"app_key"`   // whose newest secret signs
	URL       string `json:"url"`
	Waiting   int64  `json:"waiting"`  // pushes that are still to be received
	GivenUp   int64  `json:"given_up"` // pushes of the last 30 days that were not received
}

// PushFailure is a push that was given up.
type PushFailure struct {
	AppKey    string    `json:"app_key"`
	Event     string    `json:"event"` // created, confirmed, approved or invalid
	ProgramID string    `json:"program_id"`
	OrderSn   string    `json:"order_sn"`
	Attempts  int64     `json:"attempts"`
	At        time.Time `json:"at"`     // when it was given up
	Reason    string    `json:"reason"` // why the last attempt failed
}

// SetPushTarget makes an address the only one of the publisher that has the App
// Key, which signs from now on. What waits for an earlier address goes to this
// one. Nothing is sent; see [Pusher.Test]. The error is a [*ConfigError], or
// wraps [ErrPushKey].
func (s *Service) SetPushTarget(ctx context.Context, appKey, address string) error {
	if _, err := parsePushAddress(address); err != nil {
		return err
	}
	return s.store.change(ctx, func(c *change) error {
		publisher, err := c.pushOwner(ctx, appKey)
		if err != nil {
			return err
		}
		return c.exec(ctx, `INSERT INTO push_targets (publisher_id, access_key, url, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?) ON CONFLICT (publisher_id) DO UPDATE
			SET access_key = excluded.access_key, url = excluded.url, updated_at = excluded.updated_at`,
			publisher, appKey, address, c.now, c.now)
	})
}

// RemovePushTarget forgets the address of the publisher that has the App Key,
// and what it was still to be told. The error wraps [ErrPushKey] or
// [ErrNoPushTarget].
func (s *Service) RemovePushTarget(ctx context.Context, appKey string) error {
	return s.store.change(ctx, func(c *change) error {
		publisher, err := c.pushOwner(ctx, appKey)
		if err != nil {
			return err
		}
		known, err := c.found(ctx, `SELECT 1 FROM push_targets WHERE publisher_id = ?`, []any{publisher}, new(int))
		if err == nil && !known {
			err = ErrNoPushTarget
		}
		if err != nil {
			return err
		}
		return errors.Join(
			c.exec(ctx, `DELETE FROM push_queue WHERE publisher_id = ?`, publisher),
			c.exec(ctx, `DELETE FROM push_targets WHERE publisher_id = ?`, publisher))
	})
}

func (c *change) pushOwner(ctx context.Context, appKey string) (int64, error) {
	var publisher sql.Null[int64]
	_, err := c.found(ctx, `SELECT publisher_id FROM access_keys WHERE access_key = ? AND disabled_at IS NULL`,
		[]any{appKey}, &publisher)
	if err == nil && !publisher.Valid {
		err = ErrPushKey
	}
	return publisher.V, err
}

// PushTargets lists the addresses of all publishers.
func (s *Service) PushTargets(ctx context.Context) ([]PushTarget, error) {
	const count = `(SELECT COUNT(*) FROM push_queue q WHERE q.publisher_id = t.publisher_id AND q.failed_at IS `
	st, err := s.store.statement(ctx, `SELECT p.name, t.access_key, t.url, `+count+`NULL), `+count+`NOT NULL)
		FROM push_targets t JOIN publishers p ON p.id = t.publisher_id ORDER BY t.publisher_id`)
	if err != nil {
		return nil, err
	}
	return scanAll(ctx, st, nil, func(scan func(...any) error) (t PushTarget, err error) {
		return t, scan(&t.Publisher, &t.AppKey, &t.URL, &t.Waiting, &t.GivenUp)
	})
}

// PushFailures lists the pushes that were given up, the newest first and at
// most limit of them.
func (s *Service) PushFailures(ctx context.Context, limit int64) ([]PushFailure, error) {
	st, err := s.store.statement(ctx, `SELECT t.access_key, q.event, COALESCE(o.program_id, ''), COALESCE(o.order_sn, ''),
		q.attempts, q.failed_at, q.reason
		FROM push_queue q JOIN push_targets t ON t.publisher_id = q.publisher_id LEFT JOIN orders o ON o.id = q.order_id
		WHERE q.failed_at IS NOT NULL ORDER BY q.failed_at DESC, q.seq DESC LIMIT ?`)
	if err != nil {
		return nil, err
	}
	return scanAll(ctx, st, []any{limit}, func(scan func(...any) error) (f PushFailure, err error) {
		var at int64
		err = scan(&f.AppKey, &f.Event, &f.ProgramID, &f.OrderSn, &f.Attempts, &at, &f.Reason)
		f.At = time.Unix(at, 0).UTC()
		return f, err
	})
}

// scanAll runs a query and reads its rows.
func scanAll[T any](ctx context.Context, st prepared, args []any, read func(scan func(...any) error) (T, error)) ([]T, error) {
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("read pushes: %w", err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := read(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("read pushes: %w", err)
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// parsePushAddress reads an address that pushes can be sent to. Only its path
// is signed, so it has no query. The error does not quote it.
func parsePushAddress(address string) (*url.URL, error) {
	const want = "write it like https://partner.example.com/push, with a host, and without user, query and fragment"
	if err := schema.ValidateString("URL", address); err != nil {
		return nil, &ConfigError{"URL", "give at most 255 characters of UTF-8"}
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, &ConfigError{"URL", want}
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, &ConfigError{"URL", "give a port from 1 to 65535"}
		}
	}
	return u, nil
}

// pushPath is what is signed of an address.
func pushPath(u *url.URL) string {
	if path := u.EscapedPath(); path != "" {
		return path
	}
	return "/"
}
