package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
	"github.com/orderwire/orderwire/sources/openapi"
)

// agree holds four pictures of the same orders against each other: the events
// of the log, the Parquet rows, the commission report, and the network's own
// answers. It returns the last event of each order.
func (w *world) agree(tb testing.TB) map[string]schema.Event {
	tb.Helper()
	events := w.events(tb)
	last := checkVersions(tb, events)
	w.checkArchive(tb, events)
	truth := w.truth(tb, last)
	w.checkReport(tb, truth)
	return last
}

// events reads the log with the events command.
func (w *world) events(tb testing.TB) []schema.Event {
	tb.Helper()
	var all []schema.Event
	lines := bufio.NewScanner(strings.NewReader(succeed(tb, "events", "-c", w.config, "-o", "json")))
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		e, err := schema.ParseEvent(lines.Bytes())
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// checkVersions holds every order to versions 1, 2, 3 … and returns its last
// event.
func checkVersions(tb testing.TB, events []schema.Event) map[string]schema.Event {
	tb.Helper()
	last := make(map[string]schema.Event)
	for _, e := range events {
		key := e.Key().String()
		before := last[key]
		if e.Data.Version != before.Data.Version+1 || e.Data.PreviousID != before.ID {
			tb.Fatalf("order %s: version %d after %d", key, e.Data.Version, before.Data.Version)
		}
		if (e.Type == schema.OrderCreated) != (e.Data.Version == 1) {
			tb.Fatalf("order %s: version %d is %s", key, e.Data.Version, e.Type)
		}
		last[key] = e
	}
	return last
}

// checkArchive holds the rows of all Parquet files, as a glob finds them, to
// the events, one for one.
func (w *world) checkArchive(tb testing.TB, events []schema.Event) {
	tb.Helper()
	rows := make(map[string]archive.Row, len(events))
	for _, file := range parquetFiles(tb, filepath.Join(w.dir, "data", "archive")) {
		for r, err := range archive.ReadFile(tb.Context(), file) {
			if err != nil {
				tb.Fatal(err)
			}
			if _, again := rows[r.EventID]; again {
				tb.Fatalf("event %s stands twice in the archive", r.EventID)
			}
			rows[r.EventID] = r
		}
	}
	if len(rows) != len(events) {
		tb.Fatalf("%d rows in the archive, %d events in the log", len(rows), len(events))
	}
	for i := range events {
		checkRow(tb, rows[events[i].ID], &events[i], uint64(i+1))
	}
}

// parquetFiles lists what a reader of the lake sees.
func parquetFiles(tb testing.TB, dir string) []string {
	tb.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".parquet") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

func checkRow(tb testing.TB, r archive.Row, e *schema.Event, seq uint64) {
	tb.Helper()
	estimate, err := e.Data.Order.SiterCommission.Cents()
	if err != nil {
		tb.Fatal(err)
	}
	if uint64(r.Sequence) != seq || r.EventType != string(e.Type) || uint64(r.Version) != e.Data.Version ||
		r.OrderSn != e.Data.Order.OrderSn.String() || r.SiterCommission == nil || *r.SiterCommission != estimate ||
		len(r.Lines) != len(e.Data.Order.Details) || len(r.Changes) != len(e.Data.Changes) {
		tb.Fatalf("row %+v differs from event %s, sequence %d", r, e.ID, seq)
	}
}

// truth asks the network for every order, in lists and one by one, and holds
// the last events to it.
func (w *world) truth(tb testing.TB, last map[string]schema.Event) []schema.Order {
	tb.Helper()
	client, err := openapi.NewClient(openapi.Config{BaseURL: w.server.URL, AppKey: testKey, AppSecret: testSecret, RequestsPerSecond: -1})
	if err != nil {
		tb.Fatal(err)
	}
	listed := w.listed(tb, client)
	if !slices.Equal(listed, slices.Sorted(maps.Keys(last))) {
		tb.Fatalf("the network lists %d orders, the log has %d", len(listed), len(last))
	}
	var mu sync.Mutex
	var orders []schema.Order
	group, ctx := errgroup.WithContext(tb.Context())
	group.SetLimit(4)
	for key, e := range last {
		group.Go(func() error {
			answer, err := client.Order(ctx, e.Data.Order.ProgramID.String(), e.Data.Order.OrderSn.String())
			if err != nil {
				return err
			}
			if err := sameOrder(answer.Raw, e.Data.Order); err != nil {
				return fmt.Errorf("order %s: %w", key, err)
			}
			mu.Lock()
			defer mu.Unlock()
			orders = append(orders, e.Data.Order)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		tb.Fatal(err)
	}
	return orders
}

// listed pages through all orders of the network and returns their keys.
func (w *world) listed(tb testing.TB, client *openapi.Client) []string {
	tb.Helper()
	seen := make(map[string]bool)
	now := time.Now()
	for from := now.Add(-36 * 24 * time.Hour); from.Before(now); from = from.Add(24 * time.Hour) {
		for page := 1; ; page++ {
			q := openapi.OrdersQuery{From: from, To: from.Add(24 * time.Hour), Page: page, PageSize: 200}
			p, err := client.Orders(context.WithoutCancel(tb.Context()), q)
			if err != nil {
				tb.Fatal(err)
			}
			for _, raw := range p.Records {
				o, err := schema.ParseOrder(raw)
				if err != nil {
					tb.Fatal(err)
				}
				seen[o.Key("main").String()] = true
			}
			if len(p.Records) < 200 {
				break
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// sameOrder compares the JSON of an answer with an order, value by value.
func sameOrder(raw []byte, o schema.Order) error {
	encoded, err := json.Marshal(o)
	if err != nil {
		return err
	}
	var want, got any
	if err := json.Unmarshal(raw, &want); err != nil {
		return err
	}
	if err := json.Unmarshal(encoded, &got); err != nil {
		return err
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Errorf("the network answers\n%s\nthe log has\n%s", raw, encoded)
	}
	return nil
}

// checkReport computes the sums anew from the orders, by the rules of the
// issue, and holds the report to them.
func (w *world) checkReport(tb testing.TB, orders []schema.Order) {
	tb.Helper()
	var report []commission.Sum
	if err := json.Unmarshal([]byte(succeed(tb, "report", "-c", w.config, "-o", "json")), &report); err != nil {
		tb.Fatal(err)
	}
	got := make(map[string]string, len(report))
	for _, s := range report {
		key := strings.Join([]string{s.Account, s.ProgramID, s.WebsiteID, s.SubID, s.Currency, s.Status, s.Day}, "|")
		got[key] = fmt.Sprintf("%d %s %s", s.Orders, s.OrderAmount, s.Commission)
	}
	want := expectedSums(orders)
	if !maps.Equal(got, want) {
		for key := range want {
			if got[key] != want[key] {
				tb.Errorf("report %s: %s, want %s", key, got[key], want[key])
			}
		}
		tb.Fatalf("report has %d sums, want %d", len(got), len(want))
	}
}

func expectedSums(orders []schema.Order) map[string]string {
	type sum struct {
		orders             int
		amount, commission decimal.Decimal
	}
	sums := make(map[string]sum)
	for i := range orders {
		o := &orders[i]
		currency, amount, earned := o.Currency, o.OrdersPrice, o.SiterCommission.Decimal()
		switch o.Status.String() {
		case "1", "2":
			currency, amount, earned = o.ChargeCurrency, o.ConfirmPrice, o.ConfirmSiterCommission.Decimal()
		case "-1":
			earned = decimal.Zero
		}
		key := strings.Join([]string{
			"main", o.ProgramID.String(), o.WebsiteID.String(), o.SubID.String(), currency.String(), o.Status.String(), o.OrderTime.String()[:10],
		}, "|")
		s := sums[key]
		sums[key] = sum{s.orders + 1, s.amount.Add(amount.Decimal()), s.commission.Add(earned)}
	}
	texts := make(map[string]string, len(sums))
	for key, s := range sums {
		texts[key] = fmt.Sprintf("%d %s %s", s.orders, s.amount.StringFixed(2), s.commission.StringFixed(2))
	}
	return texts
}
