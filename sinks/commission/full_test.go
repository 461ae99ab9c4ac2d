package commission

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

func TestEarningsInFull(t *testing.T) {
	t.Parallel()
	b := filled(t)
	write(t, b, at(4, 2, 7, 2, order("a", status("2"))), at(4, 2, 8, 2, order("c", status("0"), func(o *schema.Order) { o.OrderTime = schema.NewText("2026-03-02") })))
	day, both := []string{"day", "sub_id", "program"}, []string{"program", "sub_id"}
	tests := []struct {
		name string
		q    Query
		want []string
	}{
		{"all", Query{Group: both}, []string{"77/s1 CNY 3 300.00 5.00", "77/s1 USD 1 14.00 0.70", "77/s2 USD 1 14.00 0.70", "8/s1 USD 1 14.00 0.70"}},
		{"twice", Query{Group: []string{"sub_id", "program", "sub_id"}, Filter: Filter{ProgramID: "8"}}, []string{"s1/8/s1 USD 1 14.00 0.70"}},
		{"by filters alone", Query{Filter: Filter{ProgramID: "77", SubID: "s1"}, LinkID: "l1"}, []string{" CNY 3 300.00 5.00", " USD 1 14.00 0.70"}},
		{"no day", Query{Group: []string{"month", "day", "website", "link", "status"}, Filter: Filter{Status: "on hold"}}, []string{"//w1/l1/on hold CNY 1 100.00 0.00"}},
		{"settlement", Query{By: BySettlement, Group: day, Filter: Filter{From: "2026-03-20", To: "2026-03-20", Status: "Confirmed"}}, []string{
			"2026-03-20/s1/8 USD 1 14.00 0.70", "2026-03-20/s2/77 USD 1 14.00 0.70",
		}},
		{"posting", Query{By: ByPosting, Group: []string{"month", "status", "program", "sub_id"}, Filter: Filter{Currency: "USD"}}, []string{
			"2026-03/1/77/s1 USD 1 14.00 0.70", "2026-03/1/77/s2 USD 1 14.00 0.70", "2026-03/1/8/s1 USD 1 14.00 0.70",
			"2026-04/1/77/s1 USD -1 -14.00 -0.70", "2026-04/2/77/s1 USD 1 14.00 0.70",
		}},
		{"posting, from one status", Query{By: ByPosting, Group: day, Filter: Filter{Status: "2"}}, []string{"2026-04-02/s1/77 USD 1 14.00 0.70"}},
		{"posting, to a day", Query{By: ByPosting, Group: both, Filter: Filter{To: "2026-03-31", Currency: "USD", ProgramID: "77"}}, []string{
			"77/s1 USD 1 14.00 0.70", "77/s2 USD 1 14.00 0.70",
		}},
		{"posting, from a day: nothing is left over", Query{By: ByPosting, Group: both, Filter: Filter{From: "2026-04-01"}}, nil},
		{"posting, no such status", Query{By: ByPosting, Group: both, Filter: Filter{Status: "none"}}, nil},
		{"posting, a name that is no currency", Query{By: ByPosting, Group: both, Filter: Filter{Currency: "estimated"}}, nil},
		{"no such account", Query{Group: both, Filter: Filter{Account: "second"}}, nil},
	}
	for _, tt := range tests {
		expect(t, tt.name, earned(t, b.Reader, tt.q), tt.want...)
	}
	none, err := b.Earnings(t.Context(), Query{Group: both, LinkID: "none"})
	if got := asJSON(t, none, err); got != "[]" {
		t.Errorf("nothing is %s", got)
	}
	for field, q := range map[string]Query{"by": {Group: append(both, "colour")}, "day": {By: "night", Group: both}, "to": {Group: both, Filter: Filter{To: "x"}}} {
		var wrong *FilterError
		if _, err := b.Earnings(t.Context(), q); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

// Texts are sorted byte by byte, also where a database would do it in another way.
func TestOrderInFull(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	var batch []schema.Entry
	want := []string{"", "10", "9", "A", "B", "a", "b", "b-", "bb", "ä"}
	for i, text := range want {
		batch = append(batch, entry(uint64(i+1), 1, order("order "+text, func(o *schema.Order) { o.SubID, o.ProgramID = schema.NewText(text), schema.NewText("p"+text) })))
	}
	slices.Reverse(batch)
	write(t, b, batch...)
	all, err := b.Earnings(t.Context(), Query{Group: []string{"sub_id", "program"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range all {
		got = append(got, all[i].Group[0])
		if all[i].Group[1] != "p"+all[i].Group[0] {
			t.Errorf("got %q", all[i].Group)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A sum that does not fit into 64 bits is an error, not another sum.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	write(t, b, entry(1, 1, order("a")), entry(2, 1, order("b")))
	exec(t, b, "UPDATE commission_states SET commission = -9223372036854775807")
	exec(t, b, "UPDATE commission_changes SET entries = REPLACE('[1,2,3,1,0,-9223372036854775807],[1,2,3,1,0,-9223372036854775807]', '2,3', "+
		"(SELECT currency || ',' || status FROM commission_states WHERE id = 1))")
	for _, by := range []string{ByOrder, BySettlement, ByPosting} {
		var e *StoreError
		all, err := b.Earnings(t.Context(), Query{By: by, Group: []string{"program", "link"}})
		if !errors.As(err, &e) || by == ByPosting && !errors.Is(err, errTooLarge) {
			t.Errorf("%s: got %+v, %v", by, all, err)
		}
	}
	if got := (&sum{}).add(sum{orders: -1, amount: -1, commission: 1}); got != nil {
		t.Error(got)
	}
}

// A report ends with its context, and the next one has a connection.
func TestCancelledInFull(t *testing.T) {
	t.Parallel()
	b := filled(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 * readerConnections {
		if _, err := b.Report(ended, Filter{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	if n := len(report(t, b.Reader, Filter{})); n != 6 {
		t.Errorf("%d rows", n)
	}
}

// The function of the readers adds to nothing that was not lent.
func TestAddingToNothing(t *testing.T) {
	t.Parallel()
	b, _ := openFile(t)
	write(t, b, entry(1, 1, order("a")))
	for query, want := range map[string]string{
		"SELECT " + addFunction + "(-1, id, id, id, id, id, id) FROM commission_states":       errNotLent.Error(),
		"SELECT " + addFunction + "(-1, id, id, id, id, id, order_sn) FROM commission_states": "string where a number should be",
	} {
		var n int64
		if err := b.db.QueryRowContext(t.Context(), query).Scan(&n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %d, %v", query, n, err)
		}
	}
}
