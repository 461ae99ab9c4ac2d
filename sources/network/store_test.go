package network

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network/networktest"
)

func openTestStore(t *testing.T) *store {
	t.Helper()
	s, err := openStore(t.Context(), networktest.Database(t), time.Now().Unix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func count(t *testing.T, s *store, query string) (n int64) {
	t.Helper()
	if err := s.row(context.Background(), query, nil, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A snapshot goes on seeing one state while changes are committed.
func TestSnapshotIsOneState(t *testing.T) {
	s := openTestStore(t)
	st, err := s.statement(t.Context(), `SELECT COUNT(*) FROM publishers`)
	if err != nil {
		t.Fatal(err)
	}
	err = s.snapshot(t.Context(), func(tx *sql.Tx) error {
		for range 3 {
			var n int
			if err := st.in(t.Context(), tx).QueryRowContext(t.Context()).Scan(&n); err != nil || n != 0 {
				t.Errorf("%d publishers, %v", n, err)
			}
			if err := s.change(t.Context(), func(c *change) error {
				_, err := c.named(t.Context(), publishers, fmt.Sprint(c.counters.owner))
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if n := count(t, s, `SELECT COUNT(*) FROM publishers`); n != 3 || err != nil {
		t.Errorf("%d publishers afterwards, %v", n, err)
	}
}

// Changes of two services on one database take turns: every number is given
// out once, and none is lost.
func TestTwoStores(t *testing.T) {
	address := networktest.Database(t)
	var stores []*store
	for range 2 {
		s, err := openStore(t.Context(), address, time.Now().Unix)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		stores = append(stores, s)
	}
	const workers, each = 6, 8
	var all sync.WaitGroup
	for n := range workers {
		all.Go(func() {
			for i := range each {
				if err := stores[n%2].change(t.Context(), func(c *change) error {
					_, err := c.named(t.Context(), publishers, fmt.Sprint(n, i))
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, query := range []string{`SELECT COUNT(*) FROM publishers`, `SELECT MAX(id) FROM publishers`, `SELECT last_owner FROM counters`} {
		if n := count(t, stores[0], query); n != workers*each {
			t.Errorf("%s: %d, want %d", query, n, workers*each)
		}
	}
}

// needPostgres skips what is about the server itself where none was given; .ci/run
// always gives one.
func needPostgres(t *testing.T) {
	t.Helper()
	if !networktest.Postgres() {
		t.Skipf("needs a PostgreSQL server: set %s to its address", networktest.Variable)
	}
}

// Services that start at once on an empty database wait for each other.
func TestPostgresMigrationsTakeTurns(t *testing.T) {
	needPostgres(t)
	address := networktest.Database(t)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			s, err := openStore(t.Context(), address, time.Now().Unix)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A change that the server lets fail for the sake of another one is made again.
func TestPostgresConflictIsMadeAgain(t *testing.T) {
	needPostgres(t)
	s := openTestStore(t)
	s.writing.Isolation = sql.LevelRepeatableRead // which the server ends at a conflict
	ctx, runs := t.Context(), 0
	if err := s.change(ctx, func(c *change) error { _, err := c.named(ctx, publishers, "p"); return err }); err != nil {
		t.Fatal(err)
	}
	err := s.change(ctx, func(c *change) error {
		if runs++; runs == 1 {
			if _, err := s.reader.ExecContext(ctx, `UPDATE publishers SET created_at = 7`); err != nil {
				return err
			}
		}
		return c.exec(ctx, `UPDATE publishers SET created_at = created_at + 1`)
	})
	if n := count(t, s, `SELECT created_at FROM publishers`); n != 8 || runs != 2 || err != nil {
		t.Errorf("%d after %d runs, want 8 after 2: %v", n, runs, err)
	}
}

// What the server refuses is explained without the password.
func TestPostgresRefusals(t *testing.T) {
	needPostgres(t)
	address := networktest.Database(t)
	for name, tt := range map[string]struct{ from, to, want string }{
		"no such user":     {"postgres://", "postgres://nobody_here:s3cret@", "check user and password"},
		"no such schema":   {"search_path=t", "search_path=u", "no schema of the search_path exists"},
		"no such database": {"?", "_none?", "createdb"},
	} {
		changed := strings.Replace(address, tt.from, tt.to, 1)
		if name == "no such user" {
			_, rest, _ := strings.Cut(address, "@")
			changed = tt.to + rest
		}
		_, err := openStore(t.Context(), changed, time.Now().Unix)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// The migrations can be taken back and made again.
func TestPostgresMigrationsDown(t *testing.T) {
	needPostgres(t)
	s := openTestStore(t)
	p, err := s.migrator()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.DownTo(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if err := s.migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, s, `SELECT last_link FROM counters`); n != 100000 {
		t.Errorf("the first link would be %d", n+1)
	}
}
