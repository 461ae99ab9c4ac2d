package console

import (
	"fmt"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
)

// A scale has few ticks of round amounts, and what is drawn fills it.
func TestScale(t *testing.T) {
	t.Parallel()
	for greatest, want := range map[int64]string{
		0: "0.01 × 3", 3: "0.01 × 3", 80: "0.20 × 4", 245_087: "500.00 × 5", 18_750: "50.00 × 4", 1_500_01: "500.00 × 4", 12_300_000: "25000.00 × 5",
	} {
		tick, ticks := scale(greatest)
		if got := fmt.Sprintf("%s × %d", amount(tick), ticks); got != want {
			t.Errorf("%s: %s, want %s", amount(greatest), got, want)
		}
	}
	for greatest := int64(3); greatest < 1<<52; greatest += greatest/7 + 1 {
		tick, ticks := scale(greatest)
		if top := tick * ticks; top < greatest || greatest*4 < top*3 || ticks > 6 {
			t.Errorf("%d of %d, in %d", greatest, top, ticks)
		}
	}
	for _, tt := range []struct {
		cents, tick int64
		want        string
	}{
		{250, 250, "2.50"}, {500_000, 100_000, "5,000"}, {1_250_000, 250_000, "12.5k"}, {12_500_000, 2_500_000, "125k"}, {1_250_000_000, 250_000_000, "12.5M"}, {0, 20, "0.00"},
	} {
		if got := tickText(tt.cents, tt.tick); got != tt.want {
			t.Errorf("%d by %d: %s, want %s", tt.cents, tt.tick, got, tt.want)
		}
	}
}

// All currencies are drawn over the same days.
func TestChartsHaveTheSameDays(t *testing.T) {
	t.Parallel()
	sum := func(day, currency string) commission.Sum {
		return commission.Sum{Day: day, Currency: currency, StatusName: "Pending", Orders: 1, Commission: schema.MoneyFromCents(100)}
	}
	charts := chartsOf([]commission.Sum{sum("2026-11-03", "CNY"), sum("2026-11-20", "CNY"), sum("2026-11-09", "USD")}, "2026-11-01")
	if len(charts) != 2 {
		t.Fatalf("%d charts", len(charts))
	}
	for i := range charts {
		days := charts[i].days
		if len(days) != 20 || days[0].date != "2026-11-01" || days[19].date != "2026-11-20" {
			t.Errorf("%s: %d days, from %v", charts[i].Currency, len(days), days)
		}
	}
}

// The reason of a dead letter is short where the letter says the rest itself, and
// stays what it is otherwise.
func TestSpecific(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		`webhook "shop" (http://127.0.0.1:38383): event cc3275cbbe533f85: answer 507 Insufficient Storage`:    "answer 507 Insufficient Storage",
		`webhook "a \"b\" (c)" (https://x.example): event e1: nothing sent: where: no such field: event x: y`: "nothing sent: where: no such field: event x: y",
		"webhook \"shop\" (http://127.0.0.1): event e1: ":                                                     "webhook \"shop\" (http://127.0.0.1): event e1: ",
		"HTTP 500":                    "HTTP 500",
		"":                            "",
		"archive: disk full: event 7": "archive: disk full: event 7",
	} {
		if got := specific(reason); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

// The network's own words for a line's status do not stand beside the status, and
// are not lost where they stand alone.
func TestShownChanges(t *testing.T) {
	t.Parallel()
	m := moved{Changes: []changed{
		{"line 1, OrderStatus", "已发货", "派送中", ""}, {"line 1, LbOrderStatus", "Shipped", "In delivery", ""}, {"line 2, OrderStatus", "a", "b", ""}, {"SiterCommission", "1", "2", ""},
	}}
	var got []string
	for _, c := range m.Shown() {
		got = append(got, c.Name()+" ["+c.Title+"]")
	}
	if want := "[line 1, status [已发货 → 派送中] line 2, status as given [] Estimated commission []]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// A moment in a table leaves out what it shares with now, and its title has all.
func TestBrief(t *testing.T) {
	t.Parallel()
	k := clock{now: time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC), viewer: time.FixedZone("CST", 8*60*60)}
	for at, want := range map[string]string{"2026-11-21T16:00:01Z": "00:00:01", "2026-11-21T15:59:59Z": "11-21 23:59:59", "2025-11-21T15:59:59Z": "2025-11-21 23:59:59"} {
		moment, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if c := k.brief(moment, ""); c.Text != want || c.Time != at || c.Title != k.at(moment, "").Text+", "+k.at(moment, "").Title {
			t.Errorf("%s: %+v, want %s", at, c, want)
		}
	}
	if c := k.brief(time.Time{}, ""); c.Text != "–" || c.Time != "" {
		t.Errorf("no moment: %+v", c)
	}
}

// A statement has its accounts in the order of the books, each currency by itself,
// and leads from no sum that is zero.
func TestStatementOrder(t *testing.T) {
	t.Parallel()
	s := &commission.Statement{Month: "2026-11"}
	for _, account := range []string{"earnings", "approved", "estimated", "another", "reversed"} {
		for _, currency := range []string{"USD", "CNY"} {
			s.Lines = append(s.Lines, commission.StatementLine{Account: "main", Currency: currency, LedgerAccount: account, Closing: schema.MoneyFromCents(100)})
		}
	}
	table := statementTable(s)
	var got string
	for i, row := range table.Rows {
		if table.Begins(i) {
			got += "| "
		}
		got += row[2].Text + " "
		if row[3].Href != "" || row[5].Href == "" {
			t.Errorf("%s: %q and %q", row[2].Text, row[3].Href, row[5].Href)
		}
	}
	if want := "estimated approved reversed earnings another "; got != want+"| "+want {
		t.Errorf("%s", got)
	}
}
