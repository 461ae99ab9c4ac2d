package commission

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// filled returns books with six orders of all kinds.
func filled(t *testing.T) *Books {
	t.Helper()
	b, _ := open(t)
	set := func(field func(*schema.Order) *schema.Text, value string) func(*schema.Order) {
		return func(o *schema.Order) { *field(o) = schema.NewText(value) }
	}
	subID := func(o *schema.Order) *schema.Text { return &o.SubID }
	orderTime := func(o *schema.Order) *schema.Text { return &o.OrderTime }
	write(t, b,
		entry(1, 1, order("a")),
		entry(2, 1, order("b", set(subID, "s2"))),
		entry(3, 1, order("c", status("0"), set(orderTime, "2026-03-02 00:00:00"))),
		entry(4, 1, order("d", status("-1"), set(func(o *schema.Order) *schema.Text { return &o.WebsiteID }, "w2"))),
		entry(5, 1, order("e", status("on hold"), set(orderTime, ""))),
		entry(6, 1, order("f", set(func(o *schema.Order) *schema.Text { return &o.ProgramID }, "8"))),
	)
	return b
}

func TestReport(t *testing.T) {
	t.Parallel()
	b := filled(t)
	const (
		unknown  = "77  w1/s1 CNY Unknown: 1 orders 100.00, commission 0.00"
		a        = "77 2026-03-01 w1/s1 USD Confirmed: 1 orders 14.00, commission 0.70"
		sub2     = "77 2026-03-01 w1/s2 USD Confirmed: 1 orders 14.00, commission 0.70"
		invalid  = "77 2026-03-01 w2/s1 CNY Invalid: 1 orders 100.00, commission 0.00"
		pending  = "77 2026-03-02 w1/s1 CNY Pending: 1 orders 100.00, commission 5.00"
		program8 = "8 2026-03-01 w1/s1 USD Confirmed: 1 orders 14.00, commission 0.70"
	)
	tests := []struct {
		name string
		f    Filter
		want []string
	}{
		{"all", Filter{}, []string{unknown, a, sub2, invalid, pending, program8}},
		{"account", Filter{Account: "main"}, []string{unknown, a, sub2, invalid, pending, program8}},
		{"other account", Filter{Account: "second"}, nil},
		{"program", Filter{ProgramID: "8"}, []string{program8}},
		{"website", Filter{WebsiteID: "w2"}, []string{invalid}},
		{"sub id", Filter{SubID: "s2"}, []string{sub2}},
		{"currency", Filter{Currency: "CNY"}, []string{unknown, invalid, pending}},
		{"status", Filter{Status: "-1"}, []string{invalid}},
		{"status by name", Filter{Status: "Invalid"}, []string{invalid}},
		{"network's own status", Filter{Status: "on hold"}, []string{unknown}},
		{"from", Filter{From: "2026-03-02"}, []string{pending}},
		{"to", Filter{To: "2026-03-01"}, []string{a, sub2, invalid, program8}},
		{"one day", Filter{From: "2026-03-01", To: "2026-03-01", ProgramID: "8"}, []string{program8}},
		{"SQL", Filter{SubID: "s2' OR '1'='1"}, nil},
	}
	for _, tt := range tests {
		expect(t, tt.name, lines(t, b.Reader, tt.f), tt.want...)
	}
}

func TestReportAddsUp(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	write(t, b, entry(1, 1, order("a")), entry(2, 1, order("b")), entry(3, 1, order("c", func(o *schema.Order) {
		o.ConfirmPrice, o.ConfirmSiterCommission = schema.MoneyFromCents(9_999_999_999), schema.MoneyFromCents(-71)
	})))
	got, err := json.Marshal(report(t, b.Reader, Filter{}))
	want := `[{"account":"main","program_id":"77","website_id":"w1","sub_id":"s1","currency":"USD","status":"1","status_name":"Confirmed",` +
		`"day":"2026-03-01","orders":3,"order_amount":"100000027.99","commission":"0.69"}]`
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
}

func TestEmptyReportIsAnEmptyList(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	totals, err := b.Totals(t.Context())
	got, jsonErr := json.Marshal([]any{report(t, b.Reader, Filter{}), totals})
	if err != nil || jsonErr != nil || string(got) != "[[],[]]" {
		t.Errorf("%v, %v, %s", err, jsonErr, got)
	}
}

func TestTotals(t *testing.T) {
	t.Parallel()
	totals, err := filled(t).Totals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cents := schema.MoneyFromCents
	want := []Total{
		{"CNY", "-1", "Invalid", 1, cents(10_000), cents(0)},
		{"CNY", "0", "Pending", 1, cents(10_000), cents(500)},
		{"CNY", "on hold", "Unknown", 1, cents(10_000), cents(0)},
		{"USD", "1", "Confirmed", 3, cents(4200), cents(210)},
	}
	if len(totals) != len(want) {
		t.Fatalf("got %+v", totals)
	}
	for i := range want {
		if totals[i] != want[i] {
			t.Errorf("got %+v, want %+v", totals[i], want[i])
		}
	}
}

func TestBadFilter(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	for _, f := range []Filter{{From: "yesterday"}, {To: "2026-02-30"}, {From: "20260301"}} {
		_, err := b.Report(t.Context(), f)
		var bad *FilterError
		if !errors.As(err, &bad) || bad.Field != "from" && bad.Field != "to" {
			t.Errorf("%+v: got %v", f, err)
		}
	}
}
