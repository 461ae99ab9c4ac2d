package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrNotFound marks a publisher, key, brand, program or material that is not
// there.
var ErrNotFound = errors.New("not there")

// maxName and maxProse bound names and descriptions, in characters.
const (
	maxName  = 255
	maxProse = 2000
)

// checkText accepts a text of at most so many characters that every database
// can hold.
func checkText(field, text string, most int) error {
	switch {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return &ConfigError{field, "no UTF-8 text, or one with the character U+0000"}
	case utf8.RuneCountInString(text) > most:
		return &ConfigError{field, fmt.Sprintf("too long, give at most %d characters", most)}
	default:
		return nil
	}
}

// checkName is checkText for a text that has to be there.
func checkName(field, text string) error {
	if text == "" {
		return &ConfigError{field, "empty, give a value"}
	}
	return checkText(field, text, maxName)
}

// ownerNamed finds a publisher or advertiser.
func (c *change) ownerNamed(ctx context.Context, sd side, name string) (int64, error) {
	var id int64
	known, err := c.found(ctx, `SELECT id FROM `+sd.table+` WHERE name = ?`, []any{name}, &id)
	if err == nil && !known {
		err = fmt.Errorf("%s %q: %w", sd.noun, name, ErrNotFound)
	}
	return id, err
}

// createOwner adds a publisher or advertiser with a name that nobody has.
func (c *change) createOwner(ctx context.Context, sd side, name string) (int64, error) {
	switch _, err := c.ownerNamed(ctx, sd, name); {
	case err == nil:
		return 0, fmt.Errorf("%s %q: %w", sd.noun, name, ErrTaken)
	case !errors.Is(err, ErrNotFound):
		return 0, err
	}
	return c.named(ctx, sd, name)
}

// newID gives out the identifier of a program or a material: one that the table
// does not have.
func (c *change) newID(ctx context.Context, table string) (string, error) {
	for {
		c.counters.owner++
		id := strconv.FormatInt(firstID+c.counters.owner, 10)
		known, err := c.found(ctx, `SELECT 1 FROM `+table+` WHERE id = ?`, []any{id}, new(int))
		if err != nil || !known {
			return id, err
		}
	}
}

// firstID lies above the programs of the simulation.
const firstID = 20000

// scanner reads the present row.
type scanner func(dest ...any) error

// listOf reads all rows of a query.
func listOf[T any](ctx context.Context, s *store, query string, args []any, read func(scanner) (T, error)) ([]T, error) {
	st, err := s.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := read(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("list: %w", err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return all, nil
}

// instant is a time of the database.
func instant(unix int64) time.Time { return time.Unix(unix, 0).UTC() }

func optionalInstant(unix sql.Null[int64]) *time.Time {
	if !unix.Valid {
		return nil
	}
	t := instant(unix.V)
	return &t
}

// optionalUnix is a time for the database, null for none.
func optionalUnix(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.Unix()
}

// notFound is the error of a row that was looked up by its id.
func notFound(err error, noun, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s %q: %w", noun, id, ErrNotFound)
	}
	return fmt.Errorf("look a %s up: %w", noun, err)
}
