package commission

import (
	"fmt"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// Orders are found by each field, the last changed first, page by page, and a
// text is only ever a text.
func TestOrders(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	var batch []schema.Entry
	for n, sn := range []string{"A-1", "A_2", "B%3", `C\4`, "' OR 1=1 --"} {
		e := schema.NewEvent(schema.OrderCreated, schema.Data{Account: "main", Version: 1, TimeZone: "UTC", Order: schema.Order{
			ProgramID: schema.NewText(fmt.Sprint(n % 2)), OrderSn: schema.NewText(sn), SubID: schema.NewText(fmt.Sprint("sub", n)),
			OrderTime: schema.NewText(fmt.Sprintf("2026-11-0%d 10:00:00", n+1)), Status: schema.NewText("0"),
			Currency: schema.NewText("USD"), SiterCommission: schema.MoneyFromCents(int64(100 + n)),
		}})
		batch = append(batch, schema.Entry{Sequence: uint64(n + 1), Event: e})
	}
	if err := b.Write(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		f     OrderFilter
		want  string
		total int64
	}{
		{OrderFilter{}, `[' OR 1=1 -- C\4 B%3 A_2 A-1]`, 5},
		{OrderFilter{Limit: 2, Offset: 1}, `[C\4 B%3]`, 5},
		{OrderFilter{Newest: true, Limit: 2}, `[' OR 1=1 -- C\4]`, 5},
		{OrderFilter{OrderSn: "A"}, "[A_2 A-1]", 2},
		{OrderFilter{OrderSn: "A-1"}, "[A-1]", 1},
		{OrderFilter{OrderSn: "_"}, "[A_2]", 1},
		{OrderFilter{OrderSn: "%"}, "[B%3]", 1},
		{OrderFilter{OrderSn: `\`}, `[C\4]`, 1},
		{OrderFilter{OrderSn: "' OR"}, "[' OR 1=1 --]", 1},
		{OrderFilter{OrderSn: "\x00\xff"}, "[]", 0},
		{OrderFilter{Filter: Filter{SubID: "' OR ''='"}}, "[]", 0},
		{OrderFilter{Filter: Filter{SubID: "sub2", Status: "0"}}, "[B%3]", 1},
		{OrderFilter{Filter: Filter{ProgramID: "1", Status: "Pending"}}, `[C\4 A_2]`, 2},
		{OrderFilter{Filter: Filter{From: "2026-11-02", To: "2026-11-03"}}, "[B%3 A_2]", 2},
	} {
		orders, total, err := b.Orders(t.Context(), tt.f)
		got := []string{}
		for _, o := range orders {
			got = append(got, o.Key.OrderSn)
		}
		if err != nil || fmt.Sprint(got) != tt.want || total != tt.total {
			t.Errorf("%+v: %v of %d, want %s of %d (%v)", tt.f, got, total, tt.want, tt.total, err)
		}
	}
	if _, _, err := b.Orders(t.Context(), OrderFilter{Filter: Filter{From: "soon"}}); err == nil {
		t.Error("a day that is none was taken")
	}
}
