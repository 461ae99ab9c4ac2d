package main_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/reconcile"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
)

// reconciled is the answer of the command as a program reads it.
type reconciled struct {
	reconcile.Report
	List []reconcile.Difference `json:"differences"`
}

// side returns how one comparison went.
func (r *reconciled) side(tb testing.TB, name string) reconcile.Side {
	tb.Helper()
	at := slices.IndexFunc(r.Sides, func(s reconcile.Side) bool { return s.Against == name })
	if at < 0 {
		tb.Fatalf("nothing was compared with %s: %+v", name, r.Report)
	}
	return r.Sides[at]
}

// found lists what differs, in texts that can be compared.
func (r *reconciled) found() []string {
	all := []string{}
	for _, d := range r.List {
		if d.Explained != "" {
			all = append(all, d.Against+" "+d.OrderSn+" "+d.Explained)
			continue
		}
		if d.Kinds[0] == reconcile.KindVersion { // and in whatever the versions differ
			d.Kinds = d.Kinds[:1]
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", d.Against, strings.Join(d.Kinds, "+"), d.OrderSn)))
	}
	return all
}

// reconciles runs the command, which has to end with an exit code.
func (w *world) reconciles(tb testing.TB, code int, args ...string) *reconciled {
	tb.Helper()
	out, errs, got := orderwire(tb, "", append([]string{"reconcile", "-c", w.config, "-o", "json"}, args...)...)
	var r reconciled
	if err := json.Unmarshal([]byte(out), &r); err != nil || got != code {
		tb.Fatalf("reconcile %v: exit code %d, want %d, %v\n%s%s", args, got, code, err, out, errs)
	}
	return &r
}

// change runs a statement on an SQLite file, and has to change n rows.
func change(tb testing.TB, file string, n int64, statement string, args ...any) {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_busy_timeout=5000")
	if err != nil {
		tb.Fatal(err)
	}
	done, err := db.ExecContext(tb.Context(), statement, args...)
	if err != nil {
		tb.Fatal(err)
	}
	if got, err := done.RowsAffected(); got != n || err != nil {
		tb.Fatalf("%s: %d rows, want %d, %v", statement, got, n, err)
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
}

// moved returns the orders that the network shows otherwise than the events, as
// the command finds them.
func (w *world) moved(tb testing.TB, last map[string]schema.Event) map[string]string {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "network.db")+"?_busy_timeout=5000")
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(tb.Context(), "SELECT program_id, order_sn, status, COALESCE(confirm_cents, 0), COALESCE(confirm_commission_cents, 0) FROM orders")
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	moved := map[string]string{}
	for rows.Next() {
		k := schema.OrderKey{Account: "main"}
		var status string
		var price, commission int64
		if err := rows.Scan(&k.Program, &k.OrderSn, &status, &price, &commission); err != nil {
			tb.Fatal(err)
		}
		o := last[k.String()].Data.Order
		oldPrice, _ := o.ConfirmPrice.Cents()
		oldCommission, _ := o.ConfirmSiterCommission.Cents()
		if o.Status.String() != status || status != "-1" && (oldPrice != price || oldCommission != commission) {
			moved[k.OrderSn] = status
		}
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return moved
}

// replaceArchive puts an archive of the events in the place of the present one,
// without one of them.
func (w *world) replaceArchive(tb testing.TB, events []schema.Event, without string) {
	tb.Helper()
	dir := filepath.Join(w.dir, "data", "archive")
	if err := os.RemoveAll(dir); err != nil {
		tb.Fatal(err)
	}
	a, err := archive.Open(tb.Context(), archive.Config{Dir: dir})
	if err != nil {
		tb.Fatal(err)
	}
	var batch []schema.Entry
	for i, e := range events {
		if e.ID != without {
			batch = append(batch, schema.Entry{Sequence: uint64(i + 1), Stored: e.Time, Subject: e.Key().Subject(e.Type), Event: e})
		}
	}
	if err := a.Write(tb.Context(), batch); err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(a.Flush(tb.Context()), a.Close()); err != nil {
		tb.Fatal(err)
	}
}

// A line that is whole has nothing to list, nor has one that has not polled yet.
// Then something is changed on each side, and each is named, and nothing else.
func TestReconcile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 400})
	succeed(t, "run", "-c", w.config, "--once")
	w.step(t, 150)
	succeed(t, "run", "-c", w.config, "--once")
	events := w.events(t)
	last := checkVersions(t, events)
	healthy := w.reconciles(t, 0)
	if healthy.Position != uint64(len(events)) || healthy.Orders != 400 || len(healthy.List) != 0 {
		t.Errorf("%+v, %v", healthy.Report, healthy.found())
	}
	for _, name := range []string{reconcile.Log, reconcile.Archive, reconcile.Network} {
		s := healthy.side(t, name)
		if s.Compared != 400 || s.Agree != 400 || len(s.Totals) != 2 || s.Gaps != nil || s.Notes != nil {
			t.Errorf("%+v", s)
		}
		for _, total := range s.Totals {
			if total.Books != total.There || total.Books.Orders == 0 {
				t.Errorf("%+v", total)
			}
		}
	}

	w.step(t, 60)
	moved := w.moved(t, last)
	want := []string{}
	for name := range moved {
		want = append(want, "network "+name+" not-polled")
	}
	got := w.reconciles(t, 0)
	if sameTexts(t, got.found(), want); len(want) < 5 || got.Differences != 0 || got.Explained != int64(len(want)) {
		t.Errorf("%+v", got.Report)
	}

	choose := chooser(t, last, moved)
	books, network := filepath.Join(w.dir, "data", "commission.db"), filepath.Join(w.dir, "network.db")
	paid, counted, lost, silent := choose(2, "1"), choose(2, "0"), choose(2, "2"), choose(1, "1")
	w.replaceArchive(t, events, lost.ID)
	change(t, books, 1, "UPDATE commission_states SET commission = commission + 100 WHERE order_sn = ?", paid.Data.Order.OrderSn.String())
	change(t, books, 1, "UPDATE commission_states SET status = (SELECT id FROM commission_texts WHERE text = '2') WHERE order_sn = ?", counted.Data.Order.OrderSn.String())
	price := silent.Data.Order.ConfirmPrice.String() // and the network does not say that it has changed
	change(t, network, 1, "UPDATE orders SET head = replace(head, ?, ?) WHERE order_sn = ?",
		`"ConfirmPrice":"`+price, `"ConfirmPrice":"1`+price, silent.Data.Order.OrderSn.String())
	for _, side := range []string{"log", "archive", "network"} {
		want = append(want, side+" commission "+paid.Data.Order.OrderSn.String(), side+" status "+counted.Data.Order.OrderSn.String())
	}
	got = w.reconciles(t, 1)
	sameTexts(t, got.found(), append(want, "ledger standing "+paid.Data.Order.OrderSn.String(), "ledger standing "+counted.Data.Order.OrderSn.String(),
		"ledger sums", "ledger sums", "ledger sums", "archive version "+lost.Data.Order.OrderSn.String(), "network amount "+silent.Data.Order.OrderSn.String()))
}

// chooser returns what gives out an order of a version and a status that has not
// moved, another one each time.
func chooser(tb testing.TB, last map[string]schema.Event, moved map[string]string) func(version uint64, status string) schema.Event {
	keys := slices.Sorted(maps.Keys(last))
	return func(version uint64, status string) schema.Event {
		tb.Helper()
		for i, key := range keys {
			e := last[key]
			_, isMoved := moved[e.Data.Order.OrderSn.String()]
			if e.Data.Version == version && e.Data.Order.Status.String() == status && !isMoved {
				keys = slices.Delete(keys, i, i+1)
				return e
			}
		}
		tb.Fatalf("no order of version %d and status %s", version, status)
		return schema.Event{}
	}
}

func sameTexts(tb testing.TB, got, want []string) {
	tb.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		tb.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
