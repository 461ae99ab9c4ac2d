package commission

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMove(t *testing.T) {
	t.Parallel()
	const cny, usd = "CNY", "USD"
	count := func(status, currency string, commission int64) counted {
		return counted{status, money{currency: currency, commission: commission}}
	}
	tests := []struct {
		name string
		from standing
		c    counted
		to   standing
		kind string
		want string
	}{
		{"first", standing{}, count("0", cny, 500), standing{Estimated, cny, 500}, KindRecognised, "estimated CNY 500, earnings CNY -500"},
		{"first, of nothing", standing{}, count("0", cny, 0), standing{Estimated, cny, 0}, KindRecognised, ""},
		{"never earned", standing{}, count("-1", cny, 0), standing{}, "", ""},
		{"nothing changes", standing{Estimated, cny, 500}, count("0", cny, 500), standing{Estimated, cny, 500}, KindAdjusted, ""},
		{"amount", standing{Estimated, cny, 500}, count("0", cny, 450), standing{Estimated, cny, 450}, KindAdjusted, "estimated CNY -50, adjustment CNY 50"},
		{"confirmed", standing{Estimated, cny, 500}, count("1", cny, 500), standing{Confirmed, cny, 500}, KindMoved, "estimated CNY -500, confirmed CNY 500"},
		{"approved for more", standing{Confirmed, cny, 500}, count("2", cny, 600), standing{Approved, cny, 600}, KindMoved,
			"confirmed CNY -500, approved CNY 600, adjustment CNY -100"},
		{"other currency", standing{Estimated, cny, 500}, count("1", usd, 70), standing{Confirmed, usd, 70}, KindConverted,
			"estimated CNY -500, conversion CNY 500, confirmed USD 70, conversion USD -70"},
		{"other currency, same status", standing{Estimated, cny, 500}, count("0", usd, 70), standing{Estimated, usd, 70}, KindConverted,
			"estimated CNY -500, conversion CNY 500, estimated USD 70, conversion USD -70"},
		{"lost", standing{Confirmed, usd, 70}, count("-1", cny, 0), standing{Reversed, usd, 70}, KindReversed, "confirmed USD -70, reversed USD 70"},
		{"the network's own status", standing{Confirmed, usd, 70}, count("on hold", cny, 0), standing{Reversed, usd, 70}, KindReversed, "confirmed USD -70, reversed USD 70"},
		{"still lost", standing{Reversed, usd, 70}, count("-1", cny, 0), standing{Reversed, usd, 70}, "", ""},
		{"back", standing{Reversed, usd, 70}, count("2", usd, 60), standing{Approved, usd, 60}, KindRestored, "reversed USD -70, approved USD 60, adjustment USD 10"},
		{"back in another currency", standing{Reversed, cny, 500}, count("1", usd, 70), standing{Confirmed, usd, 70}, KindRestored,
			"reversed CNY -500, conversion CNY 500, confirmed USD 70, conversion USD -70"},
		{"less than nothing", standing{Estimated, cny, -5}, count("-1", cny, 0), standing{Reversed, cny, -5}, KindReversed, "estimated CNY 5, reversed CNY -5"},
	}
	for _, tt := range tests {
		to, kind, lines := move(tt.from, tt.c)
		var got []string
		for _, l := range lines {
			got = append(got, fmt.Sprint(l.account, " ", l.currency, " ", l.amount))
		}
		if to != tt.to || kind != tt.kind || strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: got %+v, %s: %s, want %+v, %s: %s", tt.name, to, kind, got, tt.to, tt.kind, tt.want)
		}
		if err := balanced(lines); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestBalanced(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]posted{
		{{Estimated, "CNY", 1}},
		{{Estimated, "CNY", 1}, {Earnings, "USD", -1}},
		{{Estimated, "CNY", -1}, {Conversion, "CNY", 1}, {Confirmed, "USD", 2}, {Conversion, "USD", -1}},
	} {
		if err := balanced(lines); !errors.Is(err, ErrUnbalanced) {
			t.Errorf("%v: %v", lines, err)
		}
	}
}

// journal writes all transactions in short.
func journal(t testing.TB, r *Reader) []string {
	t.Helper()
	const query = `SELECT t.id, o.order_sn, t.version, t.kind, t.posted_on, t.month, t.corrects, e.ledger_account, e.currency, e.amount
		FROM ledger_transactions t JOIN commission_orders o ON o.id = t.order_id JOIN ledger_entries e ON e.transaction_id = t.id
		ORDER BY t.id, e.line`
	rows, err := r.db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var id, version, corrects, amount int64
		var sn, kind, postedOn, month, account, currency string
		if err := rows.Scan(&id, &sn, &version, &kind, &postedOn, &month, &corrects, &account, &currency, &amount); err != nil {
			t.Fatal(err)
		}
		if month != postedOn[:7] {
			t.Errorf("transaction %d is posted on %s to %s", id, postedOn, month)
		}
		head := fmt.Sprintf("%d %s/%d %s %s", id, sn, version, kind, postedOn)
		if corrects != 0 {
			head += fmt.Sprintf(" corrects %d", corrects)
		}
		if len(all) == 0 || !strings.HasPrefix(all[len(all)-1], head+":") {
			all = append(all, head+":")
		}
		all[len(all)-1] += fmt.Sprintf(" %s %s %d", account, currency, amount)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLedger(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	pending, lost := order("a", status("0")), order("a", status("-1"))
	write(t, b, entry(1, 1, pending), entry(2, 1, order("b", status("-1"))), entry(3, 2, order("a")), entry(4, 3, order("a")), entry(3, 2, order("a")))
	write(t, b, entry(3, 2, order("a")), entry(5, 4, lost), entry(6, 5, lost), entry(7, 6, order("a", status("2"))))
	want := []string{
		"1 a/1 recognised 2026-03-01: estimated CNY 500 earnings CNY -500",
		"2 a/2 converted 2026-03-01: estimated CNY -500 conversion CNY 500 confirmed USD 70 conversion USD -70",
		"3 a/4 reversed 2026-03-01: confirmed USD -70 reversed USD 70",
		"4 a/6 restored 2026-03-01: reversed USD -70 approved USD 70",
	}
	if got := journal(t, b.Reader); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
