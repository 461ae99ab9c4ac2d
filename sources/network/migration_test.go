package network

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// A database of the first version gets the same heads and counts as one that
// was written by this version. Only SQLite has had that version.
func TestMigrationFillsPages(t *testing.T) {
	ctx := t.Context()
	svc, err := Open(ctx, Config{DB: filepath.Join(t.TempDir(), "network.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	for _, key := range []string{"a", "b"} {
		if err := svc.AddPublisher(ctx, Publisher{AppKey: key, AppSecret: "s", Websites: []string{"of " + key}}); err != nil {
			t.Fatal(err)
		}
	}
	sim, err := svc.Simulator(SimulatorConfig{Seed: 1, History: 60 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Seed(ctx, 700); err != nil {
		t.Fatal(err)
	}
	if err := sim.Step(ctx, 200); err != nil {
		t.Fatal(err)
	}
	if err := svc.store.change(ctx, putOddOrders); err != nil {
		t.Fatal(err)
	}
	before := pagesOf(t, svc.store)
	p, err := svc.store.migrator()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.DownTo(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if err := svc.store.migrate(ctx); err != nil {
		t.Fatal(err)
	}
	after := pagesOf(t, svc.store)
	if len(before) < 2000 || len(after) != len(before) {
		t.Errorf("%d rows before, %d after", len(before), len(after))
	}
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			t.Errorf("before %q\nafter  %q", before[i], after[i])
		}
	}
}

// putOddOrders writes orders with text that JSON has to escape, without text,
// and with amounts of every form.
func putOddOrders(c *change) error {
	const odd = "a\"b\\c/<>&\x01\x1e\x7f\b\f\n\r\t\u2028é红😀"
	for i, amount := range []cents{0, 5, -5, -7_99, 10_00, 12_345_678_90} {
		sn := fmt.Sprint(odd, i)
		o := order{
			publisher: 1, program: odd, programName: odd, website: odd, link: odd, subID: odd, sn: sn, parentSn: odd,
			placed: 1_700_000_000, price: amount, commission: -amount, currency: odd, status: schema.Invalid,
			charge: charge{amount, -amount, odd, 1_700_000_123},
		}
		bare := order{publisher: 1, sn: sn + "x", placed: 1_700_000_000, charge: charge{at: 1_700_000_123}}
		for _, o := range []*order{&o, &bare} {
			if err := c.put(context.Background(), o, nil, 1_700_000_200, "test"); err != nil {
				return err
			}
		}
	}
	return nil
}

// pagesOf reads what the second migration has added.
func pagesOf(t *testing.T, s *store) []string {
	t.Helper()
	var all []string
	for _, query := range []string{
		`SELECT id || ' ' || head FROM orders ORDER BY id`,
		`SELECT publisher_id || ' ' || field || ' ' || minute || ' ' || orders FROM order_counts WHERE orders <> 0 ORDER BY 1`,
	} {
		rows, err := s.reader.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			all = append(all, line)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// The index of the time field answers every list, whatever it filters: each
// part of the statement begins at its place, and nothing is sorted. The plans
// that this reads are SQLite's.
func TestPageUsesIndex(t *testing.T) {
	s, err := openStore(t.Context(), filepath.Join(t.TempDir(), "network.db"), time.Now().Unix)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for column, index := range map[string]string{"updated_at": "orders_updated", "order_time": "orders_placed", "charge_time": "orders_charged"} {
		for _, filters := range [][]string{nil, {"program_id"}, {"website_id", "status"}} {
			q := pageQuery{listing: &listing{column: column, paging: paging{page: 2, size: 5}}}
			for _, filter := range filters {
				q.filter(filter, 1)
			}
			plan := planOf(t, s, q.pageStatement(), q.pageArguments(mark{}))
			for _, want := range []string{
				index + " (publisher_id=? AND " + column + "=? AND id>?)",
				index + " (publisher_id=? AND " + column + ">? AND " + column + "<?)",
			} {
				if !strings.Contains(plan, want) || strings.Contains(plan, "TEMP B-TREE") {
					t.Errorf("%s by %v: %s, want %s", column, filters, plan, want)
				}
			}
		}
	}
}

func planOf(t *testing.T, s *store, query string, args []any) (plan string) {
	t.Helper()
	rows, err := s.reader.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(new(int), new(int), new(int), &line); err != nil {
			t.Fatal(err)
		}
		plan += line + "; "
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}
