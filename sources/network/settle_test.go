package network_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

// What each report of an order makes of its amounts. A minute passes before
// each of them, and ChargeTime is told as the minute of the hour.
func TestSettlement(t *testing.T) {
	items := func(amounts ...string) []params {
		var all []params
		for n, amount := range amounts {
			all = append(all, params{"ItemId": n, "PayAmount": amount})
		}
		return all
	}
	for name, steps := range map[string][]struct {
		report params
		want   string // status, estimate, its commission, then confirmed amount, commission, minute
		rows   int64  // of settlement_changes so far
	}{
		"confirmed as it is": {
			{params{"Amount": 100}, "0 100.00 5.00", 0},
			{params{"Status": 1}, "1 100.00 5.00 100.00 5.00 2", 1},
			{params{"Status": 2}, "2 100.00 5.00 100.00 5.00 2", 1},
		},
		"confirmed for less": {
			{params{"Amount": 100}, "0 100.00 5.00", 0},
			{params{"Status": 1, "Amount": "90.10"}, "1 100.00 5.00 90.10 4.51 2", 1},
			{params{"Status": 1}, "1 100.00 5.00 90.10 4.51 2", 1},
			{params{"Amount": 80}, "1 100.00 5.00 80.00 4.00 4", 2},
			{params{"Status": 2, "Amount": 70}, "2 100.00 5.00 70.00 3.50 5", 3},
			{params{"Amount": 0}, "2 100.00 5.00 0.00 0.00 6", 4},
		},
		"settled with the first report": {
			{params{"Amount": 100, "Status": 2}, "2 100.00 5.00 100.00 5.00 1", 1},
		},
		"invalid": {
			{params{"Amount": 100}, "0 100.00 5.00", 0},
			{params{"Status": -1, "Amount": 100}, "-1 100.00 5.00 0.00 0.00 2", 1},
			{params{"Amount": 50}, "-1 100.00 5.00 0.00 0.00 2", 1},
			{params{"Status": 1}, "1 100.00 5.00 100.00 5.00 4", 2},
			{params{"Status": -1}, "-1 100.00 5.00 0.00 0.00 5", 3},
			{params{"Status": 2, "Amount": 10}, "2 100.00 5.00 10.00 0.50 6", 4},
			{params{"Status": 0}, "0 100.00 5.00", 5},
		},
		"a pending order grows": {
			{params{"Amount": 100}, "0 100.00 5.00", 0},
			{params{"Amount": 200}, "0 200.00 10.00", 0},
			{params{"ItemDetails": items("50", "150")}, "0 200.00 10.00", 0},
			{params{"ItemDetails": items("50", "50")}, "0 100.00 5.00", 0},
		},
		"items that come back": {
			{params{"ItemDetails": items("60.10", "39.90")}, "0 100.00 5.01", 0}, // 3.005 and 1.995
			{params{"Status": 1}, "1 100.00 5.01 100.00 5.01 2", 1},
			{params{"ItemDetails": items("60.10")}, "1 60.10 3.01 60.10 3.01 3", 2},
			{params{"Status": 2, "Amount": 30.05}, "2 60.10 3.01 30.05 1.50 4", 3}, // 1.5025
		},
		"items that are not all of it": {
			{params{"Amount": 100, "ItemDetails": items("90")}, "0 100.00 4.50", 0},
			{params{"Status": 1, "Amount": 50}, "1 100.00 4.50 50.00 2.25 2", 1},
			{params{"ItemDetails": items("80")}, "1 100.00 4.00 50.00 4.00 3", 2},
			{params{"Amount": 50, "ItemDetails": items("40")}, "1 100.00 2.00 50.00 2.00 4", 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := startBrand(t)
			for n, step := range steps {
				p := params{"OrderId": "1"}
				if n == 0 {
					p = f.first("1", nil)
					delete(p, "Amount")
				}
				for key, value := range step.report {
					p[key] = value
				}
				f.clock.advance(time.Minute)
				f.report(p)
				o := f.detail("1")
				got := fmt.Sprintf("%s %s %s", o.Status, o.OrdersPrice, o.SiterCommission)
				if !o.ChargeTime.IsZero() {
					minute := strings.TrimLeft(o.ChargeTime.String()[14:16], "0")
					got += fmt.Sprintf(" %s %s %s", o.ConfirmPrice, o.ConfirmSiterCommission, minute)
				}
				if got != step.want {
					t.Errorf("after report %d: %s, want %s", n+1, got, step.want)
				}
				if rows := f.number(`SELECT COUNT(*) FROM settlement_changes`); rows != step.rows {
					t.Errorf("after report %d: %d settlement changes, want %d", n+1, rows, step.rows)
				}
			}
			f.checkSettlements()
			f.sameEverywhere("1")
		})
	}
}

// checkSettlements holds the settlement changes to the history: one for each
// line of it that has other confirmed amounts than the line before.
func (f *fixture) checkSettlements() {
	f.tb.Helper()
	want := f.query(`SELECT seq, order_id, publisher_id, at, was, confirm_cents, had, confirm_commission_cents FROM (
		SELECT h.seq, h.order_id, o.publisher_id, h.at, COALESCE(h.confirm_cents, 0) AS confirm_cents,
			COALESCE(h.confirm_commission_cents, 0) AS confirm_commission_cents,
			COALESCE(LAG(h.confirm_cents) OVER w, 0) AS was, COALESCE(LAG(h.confirm_commission_cents) OVER w, 0) AS had,
			CASE WHEN h.confirm_cents IS NULL THEN 0 ELSE 1 END AS set_now,
			CASE WHEN LAG(h.confirm_cents) OVER w IS NULL THEN 0 ELSE 1 END AS set_before
		FROM order_history h JOIN orders o ON o.id = h.order_id WINDOW w AS (PARTITION BY h.order_id ORDER BY h.seq)) lines
		WHERE was <> confirm_cents OR had <> confirm_commission_cents OR set_now <> set_before ORDER BY seq`)
	got := f.query(`SELECT seq, order_id, publisher_id, at, price_before, price, commission_before, commission
		FROM settlement_changes ORDER BY seq`)
	if len(got) != len(want) {
		f.tb.Fatalf("%d settlement changes, want %d", len(got), len(want))
	}
	for i := range got {
		if a, b := fmt.Sprint(got[i]), fmt.Sprint(want[i]); a != b {
			f.tb.Errorf("settlement change %s, want %s", a, b)
		}
	}
}

// The simulation's changes are kept too, those of its seeding included.
func TestSimulatedSettlements(t *testing.T) {
	f := start(t, nil)
	sim := f.simulator(network.SimulatorConfig{Seed: 3, History: 60 * 24 * time.Hour}, 400)
	for range 10 {
		f.clock.advance(time.Minute)
		step(t, sim, 40)
	}
	f.checkSettlements()
	if n := f.number(`SELECT COUNT(*) FROM settlement_changes WHERE price_before > price AND charge_currency <> ''`); n == 0 {
		t.Error("no settlement was lowered")
	}
}

// What a report is refused for, and that it leaves nothing behind.
func TestReportRefused(t *testing.T) {
	f := startBrand(t)
	f.brand("Rival", "ADS-2")
	f.brand("Nobody", "ADS-3")
	f.putProgram(network.TestProgram{ID: "6001", Brand: "Rival", Domains: []string{"rival.example"}, ClickDays: 1})
	f.putProgram(network.TestProgram{ID: "6002", Brand: "Rival", Domains: []string{"closed.example"}})
	click := func(target string) string {
		return f.click("/c/" + f.link(params{"Url": target, "WebsiteId": website}).LinkId)
	}
	theirs, late := click("https://rival.example"), click("https://closed.example")
	f.putProgram(network.TestProgram{ID: "6002", Brand: "Rival", Status: "closed"})
	f.report(f.first("known", nil))
	f.report(f.first("known", params{"SubOrderID": "part"}))
	day := func(days int) string { return epoch.Add(time.Duration(days) * 24 * time.Hour).Format(time.RFC3339) }
	f.clock.advance(31 * 24 * time.Hour)
	fresh := f.clicked()
	mine := func(p params) params {
		all := params{"OrderId": "new", "ClickId": fresh, "TransactionTime": day(31), "Amount": 1}
		for key, value := range p {
			all[key] = value
		}
		return all
	}
	rival := func(p params) params {
		return mine(params{"ProgramId": "6001", "ClickId": theirs, "TransactionTime": p["TransactionTime"], "OrderId": "r"})
	}
	before := fmt.Sprint(f.query(`SELECT * FROM orders ORDER BY id`), f.query(`SELECT * FROM counters`))
	for _, tt := range []struct {
		name   string
		key    string
		report params
		status network.Status
		text   string
	}{
		{"no order", adsKey, params{"ClickId": fresh}, network.StatusParameter, "OrderId"},
		{"two orders", adsKey, mine(params{"OrderID": "other"}), network.StatusParameter, "OrderID"},
		{"two sub-orders", adsKey, mine(params{"SubOrderID": "a", "SubOrderId": "b"}), network.StatusParameter, "SubOrderId"},
		{"a sub-order of itself", adsKey, mine(params{"SubOrderID": "new"}), network.StatusParameter, "SubOrderID"},
		{"no click", adsKey, mine(params{"ClickId": ""}), network.StatusParameter, "ClickId"},
		{"no time", adsKey, mine(params{"TransactionTime": ""}), network.StatusParameter, "TransactionTime"},
		{"no amount", adsKey, mine(params{"Amount": ""}), network.StatusParameter, "Amount"},
		{"time in words", adsKey, mine(params{"TransactionTime": "today"}), network.StatusParameter, "TransactionTime"},
		{"time to come", adsKey, mine(params{"TransactionTime": day(33)}), network.StatusParameter, "TransactionTime"},
		{"time of long ago", adsKey, mine(params{"TransactionTime": "0001-01-01"}), network.StatusParameter, "TransactionTime"},
		{"negative amount", adsKey, mine(params{"Amount": "-1"}), network.StatusParameter, "Amount"},
		{"three decimals", adsKey, mine(params{"Amount": "1.001"}), network.StatusParameter, "Amount"},
		{"nine digits", adsKey, mine(params{"Amount": "123456789"}), network.StatusParameter, "Amount"},
		{"status", adsKey, mine(params{"Status": 3}), network.StatusParameter, "Status"},
		{"currency in words", adsKey, mine(params{"Currency": "yuan"}), network.StatusParameter, "Currency"},
		{"another currency", adsKey, mine(params{"Currency": "EUR"}), network.StatusNotAllowed, "Currency: EUR is not of this program; want CNY"},
		{"new customer", adsKey, mine(params{"IsNewCustomer": "perhaps"}), network.StatusParameter, "IsNewCustomer"},
		{"items", adsKey, mine(params{"ItemDetails": "none"}), network.StatusParameter, "ItemDetails"},
		{"item without an amount", adsKey, mine(params{"ItemDetails": []params{{"ItemId": 1}}}), network.StatusParameter, "PayAmount"},
		{"no pieces", adsKey, mine(params{"ItemDetails": []params{{"Price": 1, "Quantity": 0}}}), network.StatusParameter, "Quantity"},
		{"too many items", adsKey, mine(params{"ItemDetails": make([]params, 501)}), network.StatusParameter, "ItemDetails"},
		{"too much", adsKey, mine(params{"ItemDetails": []params{{"Price": 99999999.99}, {"Price": 0.01}}}), network.StatusParameter, "99999999.99"},
		{"too much of one", adsKey, mine(params{"ItemDetails": []params{{"Price": 99999999.99, "Quantity": 1000000}}}), network.StatusParameter, "99999999.99"},

		{"no program", "ADS-3", mine(nil), network.StatusNotFound, "the brand has no program"},
		{"which program", "ADS-2", mine(nil), network.StatusParameter, "ProgramId"},
		{"another brand's program", adsKey, mine(params{"ProgramId": "6001"}), network.StatusNotFound, "ProgramId"},
		{"closed program", "ADS-2", mine(params{"ProgramId": "6002", "ClickId": late}), network.StatusNotAllowed, "ProgramId"},

		{"unknown click", adsKey, mine(params{"ClickId": "x"}), network.StatusClick, "ClickId: there is no such click"},
		{"another brand's click", adsKey, mine(params{"ClickId": theirs}), network.StatusClick, "ClickId: the click is of another program"},
		{"old click", "ADS-2", rival(params{"TransactionTime": epoch.Add(24*time.Hour + time.Second).Format(time.RFC3339)}), network.StatusClick, "more than 1 days"},
		{"another click", adsKey, params{"OrderId": "known", "ClickId": fresh}, network.StatusClick, "belongs to another click"},

		{"another currency later", adsKey, params{"OrderId": "known", "Currency": "USD"}, network.StatusConflict, "Currency: the order's is CNY"},
		{"an order as sub-order", adsKey, params{"OrderId": "new", "SubOrderID": "known"}, network.StatusConflict, "SubOrderID"},
		{"a sub-order as order", adsKey, params{"OrderId": "part", "Status": 1}, network.StatusConflict, "OrderId"},
		{"a sub-order elsewhere", adsKey, params{"OrderId": "new", "SubOrderID": "part"}, network.StatusConflict, "OrderId"},
		{"a publisher", appKey, params{}, network.StatusParameter, "Sign"},
	} {
		f.refused(t, tt.name, f.ads(tt.key, ordersPost, tt.report), tt.status, tt.text)
	}
	if a := f.call(ordersPost, mine(nil)); a.Status != network.StatusNoService {
		t.Errorf("a signed report: Status %d", a.Status)
	}
	if after := fmt.Sprint(f.query(`SELECT * FROM orders ORDER BY id`), f.query(`SELECT * FROM counters`)); after != before {
		t.Error("a refused report has left something behind")
	}
	a := f.ads("ADS-2", ordersPost, rival(params{"TransactionTime": day(1)}))
	if a.Status != network.StatusSuccess {
		t.Errorf("a click of exactly one day: Status %d: %s", a.Status, a.Message)
	}
}

func (f *fixture) refused(t *testing.T, name string, a answer, status network.Status, text string) {
	t.Helper()
	if a.HTTP != 200 || a.Status != status || !strings.Contains(a.Message, text) {
		t.Errorf("%s: HTTP %d, Status %d: %s; want %d with %q", name, a.HTTP, a.Status, a.Message, status, text)
	}
}
