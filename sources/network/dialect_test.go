package network

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestRebind(t *testing.T) {
	var r rebinder
	for query, want := range map[string]string{
		`SELECT 1`:                      `SELECT 1`,
		`a = ? AND b IN (?, ?)`:         `a = $1 AND b IN ($2, $3)`,
		`a = '?' AND b = 'it''s ?' + ?`: `a = '?' AND b = 'it''s ?' + $1`,
		`名 = ?`:                         `名 = $1`,
	} {
		for range 2 {
			if got := r.rebind(query); got != want {
				t.Errorf("%s gives %s, want %s", query, got, want)
			}
		}
	}
}

// What is wrong in an address gets an error that says what to do and holds
// nothing of the password, whichever part it has ended up in.
func TestAddressErrors(t *testing.T) {
	for address, want := range map[string]string{
		"":                                            "DB: empty",
		"mysql://u:s3cret@h/db":                       "DB: no database of this kind",
		"postgres://u:s3c/ret@h/":                     "DB: no address of a PostgreSQL database",
		"postgres://u:12/s3cret@h/db":                 "%2F",
		"postgres://u:12#s3cret@h/db":                 "%23",
		"postgres://u:12?s3cret@h/db":                 "%3F",
		"postgres://u:s3cret%@h/db":                   "%25",
		"postgres://u:s3cret@h:port/db":               "DB: no address of a PostgreSQL database",
		"postgres://u:s3cret@h/db?sslmode=perhaps":    "DB: the address holds a port or a setting",
		"postgresql://u:s3cret@h/db?connect_timeout=": "DB: the address holds a port or a setting",
	} {
		_, err := Open(t.Context(), Config{DB: address})
		var e *ConfigError
		if !errors.As(err, &e) || e.Field != "DB" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "s3c") || strings.Contains(err.Error(), "ret@")) {
			t.Errorf("%s: the password is shown: %v", address, err)
		}
	}
	_, err := Open(t.Context(), Config{DB: "postgres://u:s3cret@127.0.0.1:1/db"})
	if err == nil || !strings.Contains(err.Error(), "cannot be reached: check that it runs") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestPostgresErrors(t *testing.T) {
	for code, want := range map[string]struct {
		again, busy bool
		hint        string
	}{
		"40001": {true, true, ""}, "40P01": {true, true, ""}, "55P03": {false, true, ""},
		"57P03": {false, true, ""}, "08006": {false, true, ""}, "23505": {false, false, ""},
		"53300": {false, true, "max_connections"}, "42501": {false, false, "GRANT"},
		"28P01": {false, false, "check user and password"}, "3D000": {false, false, "createdb"},
	} {
		err := error(&pgconn.PgError{Code: code, Message: "of the server"})
		err = errors.Join(errors.New("first"), err)
		if again, busy := postgresAgain(err), postgresBusy(err); again != want.again || busy != want.busy {
			t.Errorf("%s: again %v, busy %v, want %+v", code, again, busy, want)
		}
		told := explainPostgres(err)
		if !errors.Is(told, err) || !strings.Contains(told.Error(), want.hint) || (want.hint == "") != (told.Error() == err.Error()) {
			t.Errorf("%s: %v, want %q", code, told, want.hint)
		}
	}
}

// A change that the database wants again is made again as a whole, and given up
// in the end; any other failure is final.
func TestChangeAgain(t *testing.T) {
	s := openTestStore(t)
	again := errors.New("again")
	s.again = func(err error) bool { return errors.Is(err, again) }
	add := func(failures int, failure error) (runs int, err error) {
		err = s.change(t.Context(), func(c *change) error {
			runs++
			if _, err := c.named(context.Background(), publishers, "p"); err != nil {
				return err
			}
			if runs <= failures {
				return failure
			}
			return nil
		})
		return runs, err
	}
	if runs, err := add(attempts, again); runs != attempts || !errors.Is(err, again) {
		t.Errorf("given up after %d runs: %v", runs, err)
	}
	if runs, err := add(1, errors.ErrUnsupported); runs != 1 || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another failure: %d runs, %v", runs, err)
	}
	if n := count(t, s, `SELECT COUNT(*) FROM publishers`); n != 0 {
		t.Errorf("%d publishers of changes that failed", n)
	}
	if runs, err := add(2, again); runs != 3 || err != nil {
		t.Errorf("%d runs: %v", runs, err)
	}
	if n := count(t, s, `SELECT last_owner FROM counters`); n != 1 {
		t.Errorf("%d numbers were given out, want 1", n)
	}
}
