package commission

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

func asJSON(t testing.TB, v any, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func earned(t testing.TB, r *Reader, q Query) []string {
	t.Helper()
	all, err := r.Earnings(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return earnedLines(all)
}

func earnedLines(all []Earned) []string {
	var lines []string
	for _, e := range all {
		lines = append(lines, fmt.Sprintf("%s %s %d %s %s", strings.Join(e.Group, "/"), e.Currency, e.Orders, e.OrderAmount, e.Commission))
	}
	return lines
}

func TestEarnings(t *testing.T) {
	t.Parallel()
	b := filled(t)
	tests := []struct {
		name string
		q    Query
		want []string
	}{
		{"all", Query{}, []string{" CNY 3 300.00 5.00", " USD 3 42.00 2.10"}},
		{"program", Query{Group: []string{"program"}}, []string{"77 CNY 3 300.00 5.00", "77 USD 2 28.00 1.40", "8 USD 1 14.00 0.70"}},
		{"month, status", Query{Group: []string{"month", "status"}}, []string{
			"/on hold CNY 1 100.00 0.00", "2026-03/-1 CNY 1 100.00 0.00", "2026-03/0 CNY 1 100.00 5.00", "2026-03/1 USD 3 42.00 2.10",
		}},
		{"settlement", Query{By: BySettlement, Group: []string{"day"}, Filter: Filter{Status: "Confirmed"}}, []string{"2026-03-20 USD 3 42.00 2.10"}},
		{"posting", Query{By: ByPosting, Group: []string{"day", "sub_id"}, Filter: Filter{Currency: "USD"}}, []string{
			"2026-03-01/s1 USD 2 28.00 1.40", "2026-03-01/s2 USD 1 14.00 0.70",
		}},
		{"link", Query{LinkID: "l1", Group: []string{"website", "link", "account"}, Filter: Filter{Currency: "CNY"}}, []string{
			"w1/l1/main CNY 2 200.00 5.00", "w2/l1/main CNY 1 100.00 0.00",
		}},
		{"no such link", Query{LinkID: "l2"}, nil},
	}
	for _, tt := range tests {
		expect(t, tt.name, earned(t, b.Reader, tt.q), tt.want...)
	}
	for field, q := range map[string]Query{"by": {Group: []string{"colour"}}, "day": {By: "night"}, "from": {Filter: Filter{From: "x"}}} {
		var wrong *FilterError
		if _, err := b.Earnings(t.Context(), q); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

// The day of posting has what it changed: the order goes from one status to the
// other.
func TestEarningsByPosting(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	write(t, b, at(3, 5, 1, 1, order("a", status("0"))), at(3, 6, 2, 2, order("a")), at(3, 6, 3, 3, order("a", status("2"))))
	expect(t, "by posting", earned(t, b.Reader, Query{By: ByPosting, Group: []string{"day", "status"}}),
		"2026-03-05/0 CNY 1 100.00 5.00", "2026-03-06/0 CNY -1 -100.00 -5.00", "2026-03-06/2 USD 1 14.00 0.70")
	expect(t, "by order", earned(t, b.Reader, Query{Group: []string{"day", "status"}}), "2026-03-01/2 USD 1 14.00 0.70")
}

func TestAgeing(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	var batch []schema.Entry
	for i, day := range []string{"2026-06-30", "2026-05-31", "2026-05-30", "2026-05-01", "2026-04-30", "2026-04-01", "2026-03-31", ""} {
		sn := fmt.Sprint("order ", i)
		batch = append(batch, entry(uint64(i+1), 1, order(sn, status("0"), func(o *schema.Order) { o.OrderTime = schema.NewText(day) })))
	}
	write(t, b, append(batch, entry(9, 1, order("confirmed")))...)
	aged, err := b.Ageing(t.Context(), Filter{}, "2026-06-30")
	var got []string
	for _, a := range aged {
		got = append(got, fmt.Sprintf("%s/%s %s: %d %s %s", a.Account, a.ProgramID, a.Age, a.Orders, a.OrderAmount, a.Commission))
	}
	if err != nil {
		t.Error(err)
	}
	expect(t, "ageing", got, "main/77 0-30: 2 200.00 10.00", "main/77 31-60: 2 200.00 10.00", "main/77 61-90: 2 200.00 10.00",
		"main/77 over 90: 1 100.00 5.00", "main/77 unknown: 1 100.00 5.00")
	for _, today := range []string{"", "today"} {
		var wrong *FilterError
		if _, err := b.Ageing(t.Context(), Filter{}, today); !errors.As(err, &wrong) {
			t.Errorf("%q: got %v", today, err)
		}
		if _, err := b.Overdue(t.Context(), Filter{}, today); !errors.As(err, &wrong) {
			t.Errorf("%q: got %v", today, err)
		}
	}
}

// approved writes n orders of a program that took 1 to n days to be approved.
func approved(program string, first uint64, n int) []schema.Entry {
	var batch []schema.Entry
	for i := range n {
		batch = append(batch, entry(first+uint64(i), 1, order(fmt.Sprint("order ", i), status("2"), func(o *schema.Order) {
			o.ProgramID = schema.NewText(program)
			o.OrderTime, o.ChargeTime = schema.NewText("2026-01-31"), schema.NewText(observed.AddDate(0, 0, i-28).Format("2006-01-02 15:04:05"))
		})))
	}
	return batch
}

func TestReversals(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	of8 := func(o *schema.Order) { o.ProgramID = schema.NewText("8") }
	write(t, b, append(approved("77", 1, 20), entry(21, 1, order("lost", status("-1"))), entry(22, 1, order("pending", status("0"))),
		entry(23, 1, order("held", status("on hold"))), entry(24, 1, order("a", of8, status("0"))))...)
	all, err := b.Reversals(t.Context(), Filter{Status: "2", Currency: "EUR"})
	got := asJSON(t, all, err)
	want := `[{"account":"main","program_id":"77","orders":23,"pending":1,"reversed":2,"rate":"0.0909","approved":20,"p50_days":10,"p90_days":18,"p99_days":20},` +
		`{"account":"main","program_id":"8","orders":1,"pending":1,"reversed":0,"rate":"","approved":0,"p50_days":null,"p90_days":null,"p99_days":null}]`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOverdue(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	pending := func(sn, program, day string) schema.Order {
		return order(sn, status("0"), func(o *schema.Order) { o.ProgramID, o.OrderTime = schema.NewText(program), schema.NewText(day) })
	}
	batch := append(approved("77", 1, 20), approved("8", 21, 19)...)
	vanished := entryOf(schema.OrderVanished, 45, 2, pending("gone", "77", "2026-02-01"))
	write(t, b, append(batch, entry(40, 1, pending("late", "77", "2026-02-10")), entry(41, 1, pending("usual", "77", "2026-02-11")),
		entry(42, 1, pending("unknown", "8", "2026-01-01")), entry(43, 1, pending("gone", "77", "2026-02-01")), vanished, entry(46, 1, pending("no day", "77", "")))...)
	overdue, err := b.Overdue(t.Context(), Filter{}, "2026-03-01")
	got := asJSON(t, overdue, err)
	want := `[{"account":"main","program_id":"77","order_sn":"late","sub_id":"s1","day":"2026-02-10","days":19,"usual_days":18,` +
		`"currency":"CNY","commission":"5.00","observed_at":"2026-03-01T08:00:40.000000Z"}]`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, f := range []Filter{{ProgramID: "8"}, {Account: "second"}} {
		if overdue, err := b.Overdue(t.Context(), f, "2026-03-01"); asJSON(t, overdue, err) != "[]" {
			t.Errorf("%+v: got %+v", f, overdue)
		}
	}
}

func TestEstimatedAndConfirmed(t *testing.T) {
	t.Parallel()
	b := filled(t)
	same := order("g", status("2"), func(o *schema.Order) {
		o.ProgramID, o.ChargeCurrency, o.ConfirmSiterCommission = schema.NewText("8"), schema.Text{}, schema.MoneyFromCents(450)
	})
	nothing := order("h", func(o *schema.Order) {
		o.ProgramID, o.ChargeCurrency, o.SiterCommission = schema.NewText("9"), schema.NewText("CNY"), schema.Money{}
	})
	write(t, b, entry(7, 1, same), entry(8, 1, nothing))
	all, err := b.EstimatedAndConfirmed(t.Context(), Filter{})
	var got []string
	for _, s := range all {
		got = append(got, fmt.Sprintf("%s %s/%s %d %s %s %s %s %s", s.ProgramID, s.EstimatedCurrency, s.ConfirmedCurrency, s.Orders,
			s.EstimatedAmount, s.EstimatedCommission, s.ConfirmedAmount, s.ConfirmedCommission, s.Rate))
	}
	if err != nil {
		t.Error(err)
	}
	expect(t, "settled", got, "77 CNY/USD 2 200.00 10.00 28.00 1.40 0.140000", "8 CNY/CNY 1 100.00 5.00 14.00 4.50 0.900000",
		"8 CNY/USD 1 100.00 5.00 14.00 0.70 0.140000", "9 CNY/CNY 1 100.00 0.00 14.00 0.70 ")
	conversions, err := b.Conversions(t.Context(), Filter{ProgramID: "8"})
	if err != nil || len(conversions) != 1 || conversions[0].ConfirmedCurrency != "USD" {
		t.Errorf("got %+v, %v", conversions, err)
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	const file = "date,from,to,rate\n2026-02-25,CNY,EUR,0.125\n2026-03-01, CNY, EUR, 0.13\n2026-03-01,USD,EUR,0.855\n"
	rates, err := ReadRates(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ day, from, to, want string }{
		{"2026-02-25", "CNY", "EUR", "0.125"}, {"2026-02-28", "CNY", "EUR", "0.125"}, {"2026-03-01", "CNY", "EUR", "0.13"},
		{"2026-03-08", "CNY", "EUR", "0.13"}, {"", "EUR", "EUR", "1"},
		{"2026-03-09", "CNY", "EUR", "rates: no rate from CNY to EUR for 2026-03-09 or the 7 days before; add a line 2026-03-09,CNY,EUR,RATE"},
		{"2026-02-24", "CNY", "EUR", "no rate from CNY to EUR for 2026-02-24"}, {"2026-03-01", "EUR", "CNY", "no rate from EUR to CNY"},
		{"", "CNY", "EUR", "orders in CNY without a readable day"},
	} {
		got, err := rates.Rate(tt.day, tt.from, tt.to)
		if err == nil && got.String() != tt.want || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %s, %v", tt, got, err)
		}
	}
	b := filled(t)
	in, err := b.EarningsIn(t.Context(), Query{Filter: Filter{From: "2026-03-01"}, Group: []string{"program"}}, "EUR", rates)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "in EUR", earnedLines(in), "77 EUR 4 49.94 1.85", "8 EUR 1 11.97 0.60")
	var missing *RateError
	if _, err := b.EarningsIn(t.Context(), Query{}, "EUR", rates); !errors.As(err, &missing) || missing.From != "CNY" || missing.Day != "" {
		t.Errorf("got %v", err)
	}
	for file, want := range map[string]string{
		"2026-03-01,CNY,EUR":                                  "line 1: is not date,from,to,rate",
		"2026-03-01,CNY,EUR,0.1\nyesterday,CNY,EUR,0.1":       "line 2: the date is no day",
		"2026-03-01,CNY,CNY,1":                                "line 1: from and to",
		"2026-03-01,CNY,EUR,0":                                "line 1: the rate is no positive",
		"2026-03-01,CNY,EUR,x":                                "line 1: the rate is no positive",
		"2026-03-01,CNY,EUR,0.1\n2026-03-01,CNY,EUR,0.2":      "line 2: is a second, different rate from CNY to EUR",
		"2026-03-01,CNY,EUR,0.1\n\"2026-03-01,CNY,EUR,0.1":    "is not date,from,to,rate",
		"date,from,to,rate\n2026-03-01,CNY,EUR,0.1\nnonsense": "line 3: is not date,from,to,rate",
	} {
		if _, err := ReadRates(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", file, err, want)
		}
	}
}
