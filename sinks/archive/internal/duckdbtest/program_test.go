package duckdbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
)

const (
	appKey    = "2312521"
	appSecret = "s3cr3t"
	zone      = "Asia/Shanghai"

	networkOrders = 3_000
	networkMoves  = 900
)

// latest is the last state of each order.
const latest = `(SELECT * FROM events
	QUALIFY row_number() OVER (PARTITION BY account, program_id, order_sn ORDER BY version DESC) = 1)`

// The program polls a network twice, before and after 900 changes of its orders,
// all of them processes. What DuckDB then reads in the archive's folder agrees
// with what the network itself answers.
func TestSetFromTheProgram(t *testing.T) {
	dir, orderwire := t.TempDir(), program(t)
	network := []string{"network", "--listen", "127.0.0.1:0", "--db", filepath.Join(dir, "network.db"), "--app-key", appKey, "--app-secret", appSecret}
	still := launch(t, orderwire, append(network, "--speed", "0", "--orders", fmt.Sprint(networkOrders))...)
	succeed(t, orderwire, "run", "--once", "-c", configure(t, dir, address(t, still)))
	still.terminate(t)
	moving := launch(t, orderwire, append(network, "--speed", "10000000", "--moves", fmt.Sprint(networkMoves))...)
	url := address(t, moving)
	moving.await(t, "simulator is done")
	for range 2 {
		succeed(t, orderwire, "run", "--once", "-c", configure(t, dir, url))
	}

	l := openLake(t, filepath.Join(dir, "data", "archive"))
	truth := listed(t, url)
	if len(truth) != networkOrders {
		t.Fatalf("the network lists %d orders, want %d", len(truth), networkOrders)
	}
	checkStates(t, l, truth)
	checkTotals(t, l, truth)
	l.answers(t, "SELECT count(DISTINCT sequence) = count(*), min(sequence), max(sequence) = count(*) FROM events", []string{"true|1|true"})
	l.answers(t, `SELECT count(*) FROM (SELECT max(version) AS newest, count(*) AS events FROM events
		GROUP BY account, program_id, order_sn) WHERE newest <> events`, []string{"0"})
	l.answers(t, "SELECT count(*) > 100 FROM events WHERE event_type = 'status.changed' AND len(changes) > 0", []string{"true"})
}

// checkStates compares the last state of each order with the network's.
func checkStates(tb testing.TB, l *lake, truth []schema.Order) {
	tb.Helper()
	var want []string
	for i := range truth {
		o := &truth[i]
		want = append(want, key(o.ProgramID, o.OrderSn, o.Status, o.WebsiteID, amount(o.OrdersPrice), amount(o.SiterCommission),
			amount(o.ConfirmPrice), amount(o.ConfirmSiterCommission), o.ChargeCurrency, len(o.Details)))
	}
	l.answers(tb, `SELECT program_id, order_sn, status, website_id, orders_price, siter_commission, confirm_price,
		confirm_siter_commission, charge_currency, len(lines) FROM `+latest, want)
}

// amount is null when there is no number.
func amount(m schema.Money) schema.Text {
	if !m.Known() {
		return schema.Text{}
	}
	return schema.NewText(m.Decimal().StringFixed(2))
}

// checkTotals compares orders by status, sums by currency, times and lines.
func checkTotals(tb testing.TB, l *lake, truth []schema.Order) {
	tb.Helper()
	statuses, confirmed, lines, times := tally{}, tally{}, tally{}, extremes{}
	for i := range truth {
		o := &truth[i]
		statuses.add(key(statusName(o.Status), o.Currency), o.OrdersPrice, o.SiterCommission)
		confirmed.add(key(statusName(o.Status), o.ChargeCurrency), o.ConfirmPrice, o.ConfirmSiterCommission)
		at, ok := instant(tb, zone, o.OrderTime)
		if !ok {
			tb.Fatalf("order %s has no time", o.OrderSn)
		}
		times.add(statusName(o.Status), at)
		for j := range o.Details {
			lines.add(key(o.Details[j].LbOrderStatus), o.Details[j].OrdersPrice, o.Details[j].OrderCommission)
		}
	}
	l.answers(tb, "SELECT status_name, currency, count(*), sum(orders_price), sum(siter_commission) FROM "+latest+" GROUP BY ALL", statuses.rows())
	l.answers(tb, `SELECT status_name, charge_currency, count(*), sum(confirm_price), sum(confirm_siter_commission)
		FROM `+latest+" GROUP BY ALL", confirmed.rows())
	l.answers(tb, "SELECT status_name, epoch_us(min(order_time)), epoch_us(max(order_time)) FROM "+latest+" GROUP BY ALL", times.rows())
	l.answers(tb, `SELECT l.lb_order_status, count(*), sum(l.orders_price), sum(l.order_commission)
		FROM (SELECT unnest(lines) AS l FROM `+latest+") GROUP BY ALL", lines.rows())
}

// address returns where a network listens.
func address(tb testing.TB, network *process) string {
	tb.Helper()
	_, rest, _ := strings.Cut(network.await(tb, "network is answering"), "url=")
	url, _, _ := strings.Cut(rest, " ")
	return url
}

// configure writes a configuration and returns its file.
func configure(tb testing.TB, dir, url string) string {
	tb.Helper()
	file := filepath.Join(dir, "orderwire.yaml")
	text := fmt.Sprintf(`data_dir: %q
accounts:
  - name: main
    base_url: %s
    app_key: "%s"
    app_secret: %s
    poll: {overlap: 1m, backfill: 35d, requests_per_second: 2000}
archive: {roll_every: 1s}
`, filepath.Join(dir, "data"), url, appKey, appSecret)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// listed returns all orders of a network, day by day.
func listed(tb testing.TB, url string) []schema.Order {
	tb.Helper()
	client, err := openapi.NewClient(openapi.Config{BaseURL: url, AppKey: appKey, AppSecret: appSecret, RequestsPerSecond: -1})
	if err != nil {
		tb.Fatal(err)
	}
	const day, size = 24 * time.Hour, 200
	seen := make(map[schema.OrderKey]bool)
	var all []schema.Order
	now := time.Now()
	for from := now.Add(-36 * day); from.Before(now); from = from.Add(day) {
		for page, full := 1, true; full; page++ {
			p, err := client.Orders(tb.Context(), openapi.OrdersQuery{From: from, To: from.Add(day), Page: page, PageSize: size})
			if err != nil {
				tb.Fatal(err)
			}
			for _, raw := range p.Records {
				o, err := schema.ParseOrder(raw)
				if err != nil {
					tb.Fatal(err)
				}
				if k := o.Key("main"); !seen[k] { // windows share their edges
					seen[k], all = true, append(all, o)
				}
			}
			full = len(p.Records) == size
		}
	}
	return all
}
