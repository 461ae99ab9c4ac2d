package commission

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

func drilled(t testing.TB, r *Reader, d Drill) string {
	t.Helper()
	found, err := r.Drill(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range found.Orders {
		names = append(names, o.Key.OrderSn)
	}
	text := fmt.Sprintf("%s of %d", strings.Join(names, " "), found.Total)
	for _, s := range found.Sums {
		text += fmt.Sprintf("; %s %d %s %s", s.Currency, s.Orders, s.OrderAmount, s.Commission)
	}
	return text
}

// The orders behind a sum are found by all that sums are made by, and add up to it.
func TestDrill(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	none := func(fields ...string) func(*schema.Order) {
		return func(o *schema.Order) {
			for _, f := range fields {
				switch f {
				case "sub_id":
					o.SubID = schema.Text{}
				case "day":
					o.OrderTime = schema.NewText("soon")
				case "link":
					o.LinkID = schema.Text{}
				case "settled":
					o.ChargeTime = schema.Text{}
				}
			}
		}
	}
	write(t, b, entry(1, 1, order("a", status("0"), none("settled"))), entry(2, 1, order("b", none("sub_id"))), entry(3, 1, order("c", status("2"))),
		entry(4, 1, order("d", status("-1"), none("link", "settled"))), entry(5, 1, order("e", status("on hold"), none("day"))))
	days := func(from, to string) OrderFilter { return OrderFilter{Filter: Filter{From: from, To: to}} }
	for _, tt := range []struct {
		name string
		d    Drill
		want string
	}{
		{"all", Drill{Sums: true}, "e d c b a of 5; CNY 3 300.00 5.00; USD 2 28.00 1.40"},
		{"without sums", Drill{}, "e d c b a of 5"},
		{"settled", Drill{Outcome: OutcomeSettled, EstimatedCurrency: "CNY", Sums: true}, "c b of 2; USD 2 28.00 1.40"},
		{"lost", Drill{Outcome: OutcomeLost, Sums: true}, "e d of 2; CNY 2 200.00 0.00"},
		{"without", Drill{Without: []string{"sub_id"}}, "b of 1"},
		{"with", Drill{With: []string{"day", "link_id"}, Outcome: OutcomeSettled}, "c b of 2"},
		{"no day", Drill{Without: []string{"day"}}, "e of 1"},
		{"link", Drill{LinkID: "l1"}, "e c b a of 4"},
		{"link that asks", Drill{LinkID: "' OR ''='"}, " of 0"},
		{"settlement", Drill{By: BySettlement, OrderFilter: days("2026-03-20", "2026-03-20")}, "e c b of 3"},
		{"no settlement", Drill{By: BySettlement, OrderFilter: days("2026-03-21", "")}, " of 0"},
		{"order", Drill{By: ByOrder, OrderFilter: days("", "2026-03-01")}, "d c b a of 4"},
		{"sorted", Drill{Sort: "commission", Descending: true}, "a b c d e of 5"},
		{"sorted upwards", Drill{Sort: "commission", OrderFilter: OrderFilter{Limit: 2, Offset: 1}}, "e b of 5"},
	} {
		if got := drilled(t, b.Reader, tt.d); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	for field, d := range map[string]Drill{
		"sort": {Sort: "order_sn; DROP TABLE commission_orders"}, "by": {By: "night"}, "outcome": {Outcome: "won"}, "without": {With: []string{"1=1 OR day"}},
		"from": {By: BySettlement, OrderFilter: days("soon", "")},
	} {
		var wrong *FilterError
		if _, err := b.Drill(t.Context(), d); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

// What was posted to each sum of a statement adds up to it, order by order.
func TestPosted(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	write(t, b, at(3, 5, 1, 1, order("a", status("0"))), at(3, 6, 2, 2, order("a")), at(3, 7, 3, 1, order("b", status("0"))),
		at(4, 2, 4, 2, order("b", status("-1"))), at(4, 3, 5, 3, order("a", status("2"))))
	for _, month := range []string{"2026-02", "2026-03", "2026-04"} {
		s, err := b.Statement(t.Context(), month, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range s.Lines {
			for part, want := range map[string]schema.Money{PartOpening: l.Opening, PartMovement: l.Movement, PartClosing: l.Closing} {
				found, err := b.Posted(t.Context(), PostingFilter{Month: month, Part: part, Account: l.Account, LedgerAccount: l.LedgerAccount, Currency: l.Currency})
				if err != nil || found.Amount.String() != want.String() || int64(len(found.Orders)) != found.Total {
					t.Errorf("%s %s %s: got %+v, want %s (%v)", month, part, l.LedgerAccount, found, want, err)
				}
			}
		}
	}
	found, err := b.Posted(t.Context(), PostingFilter{Month: "2026-03", Part: PartMovement, LedgerAccount: Estimated, Currency: "CNY", Sort: "amount", Descending: true})
	var got []string
	for _, o := range found.Orders {
		got = append(got, fmt.Sprintf("%s %d %s", o.Key.OrderSn, o.Count, o.Amount))
	}
	if err != nil {
		t.Error(err)
	}
	expect(t, "estimated in March", got, "b 1 5.00", "a 2 0.00")
	if beyond, err := b.Posted(t.Context(), PostingFilter{Month: "2026-03", Part: PartMovement, LedgerAccount: Estimated, Currency: "CNY", Offset: 50}); err != nil ||
		len(beyond.Orders) > 0 || beyond.Total != 2 || beyond.Amount.String() != "5.00" {
		t.Errorf("behind the last page: %+v, %v", beyond, err)
	}
	for _, f := range []PostingFilter{{Month: "soon", Part: PartMovement}, {Month: "2026-03"}, {Month: "2026-03", Part: PartMovement, Sort: "o.id"}} {
		var wrong *FilterError
		if _, err := b.Posted(t.Context(), f); !errors.As(err, &wrong) {
			t.Errorf("%+v: got %v", f, err)
		}
	}
}

// The months of the ledger are those that hold anything.
func TestMonths(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	if months, err := b.Months(t.Context()); err != nil || len(months) > 0 {
		t.Errorf("%v, %v", months, err)
	}
	write(t, b, at(3, 5, 1, 1, order("a", status("0"))), at(4, 6, 2, 1, order("b")))
	closing, err := b.CloseMonth(t.Context(), "2026-03", observed.AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	months, err := b.Months(t.Context())
	if err != nil || len(months) != 2 || months[0].Month != "2026-04" || months[0].Closed || months[0].Closing != nil ||
		months[1].Month != "2026-03" || !months[1].Closed || *months[1].Closing != *closing {
		t.Errorf("%+v, %v", months, err)
	}
}
