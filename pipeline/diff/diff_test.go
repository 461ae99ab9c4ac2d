package diff_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/pipeline/diff"
	"github.com/orderwire/orderwire/schema"
)

var at = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)

func order(tb testing.TB, text string) schema.Order {
	tb.Helper()
	o, err := schema.ParseOrder([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func snapshot(tb testing.TB, minute int, text string) schema.Data {
	tb.Helper()
	return schema.Data{Account: "main", TimeZone: "Asia/Shanghai", ObservedAt: at.Add(time.Duration(minute) * time.Minute), Order: order(tb, text)}
}

const base = `{"ProgramId":"1042","OrderSn":"A1","Status":"0","OrdersPrice":"12.50","SubId":"x","New":{"a":1,"b":[2]},` +
	`"Details":[{"ItemId":"1","LbOrderStatus":"2","OrderCommission":"1.00"},{"ItemId":"2","LbOrderStatus":"3"}]}`

func TestFirstSight(t *testing.T) {
	e, ok := diff.Next(nil, snapshot(t, 0, base))
	if !ok || e.Type != schema.OrderCreated || e.Data.Version != 1 || len(e.Data.Changes) != 0 || e.Data.PreviousID != "" {
		t.Fatalf("%v %+v", ok, e)
	}
}

func TestNext(t *testing.T) {
	tests := []struct {
		name, next string
		want       schema.EventType // "" for no event
		changes    string           // path:from>to, in order
		regression bool
	}{
		{"the same", base, "", "", false},
		{"written otherwise", `{"Status":0,"OrdersPrice":12.5,"ProgramId":1042,"OrderSn":"A1","SubId":"x","New":{"b":[2],"a":1},"ParentOrderSn":"","ChargeTime":null,` +
			`"Details":[{"ItemId":2,"LbOrderStatus":3},{"ItemId":"1","LbOrderStatus":"2","OrderCommission":1}]}`, "", "", false},
		{"settlement", replace(base, `"Status":"0"`, `"Status":"1"`), schema.StatusChanged, `/Status:"0">"1"`, false},
		{"settlement back", replace(base, `"Status":"0"`, `"Status":"-1"`), schema.StatusChanged, `/Status:"0">"-1"`, false},
		{"line status", replace(base, `"LbOrderStatus":"3"`, `"LbOrderStatus":"4"`), schema.StatusChanged, `/Details/1/LbOrderStatus:"3">"4"`, false},
		{"line status back", replace(base, `"LbOrderStatus":"3"`, `"LbOrderStatus":"2"`), schema.StatusChanged, `/Details/1/LbOrderStatus:"3">"2"`, true},
		{"amount", replace(base, `12.50`, `12.51`), schema.OrderUpdated, `/OrdersPrice:"12.50">"12.51"`, false},
		{"field gone", replace(base, `"SubId":"x",`, ``), schema.OrderUpdated, `/SubId:"x">null`, false},
		{"unknown field", replace(base, `"a":1`, `"a":2`), schema.OrderUpdated, `/New:{"a":1,"b":[2]}>{"a":2,"b":[2]}`, false},
		{"no word of lines", `{"ProgramId":"1042","OrderSn":"A1","Status":"0","OrdersPrice":"12.50","SubId":"x","New":{"a":1,"b":[2]}}`, "", "", false},
	}
	first, _ := diff.Next(nil, snapshot(t, 0, base))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, ok := diff.Next(&first, snapshot(t, 1, tt.next))
			if ok != (tt.want != "") || e.Type != tt.want || e.Data.Regression != tt.regression {
				t.Fatalf("%v, %s, regression %v", ok, e.Type, e.Data.Regression)
			}
			if !ok {
				return
			}
			got := ""
			for _, c := range e.Data.Changes {
				got += fmt.Sprintf("%s:%s>%s", c.Path, c.From, c.To)
			}
			if got != tt.changes {
				t.Errorf("changes %s\nwant    %s", got, tt.changes)
			}
			if e.Data.Version != 2 || e.Data.PreviousID != first.ID || e.ID == first.ID {
				t.Errorf("version %d, previous %s", e.Data.Version, e.Data.PreviousID)
			}
		})
	}
}

func TestLinesComeAndGo(t *testing.T) {
	first, _ := diff.Next(nil, snapshot(t, 0, base))
	e, ok := diff.Next(&first, snapshot(t, 1, replace(base, `{"ItemId":"1","LbOrderStatus":"2","OrderCommission":"1.00"},`, ``)))
	if !ok || e.Type != schema.OrderUpdated || len(e.Data.Changes) != 1 || e.Data.Changes[0].Path != "/Details" {
		t.Fatalf("line gone: %v %s %v", ok, e.Type, e.Data.Changes)
	}
	both := replace(replace(base, `{"ItemId":"1","LbOrderStatus":"2","OrderCommission":"1.00"},`, ``), `"LbOrderStatus":"3"`, `"LbOrderStatus":"9"`)
	if e, ok = diff.Next(&first, snapshot(t, 1, both)); !ok || e.Type != schema.StatusChanged {
		t.Errorf("line gone, another refunded: %v %s", ok, e.Type)
	}
}

func TestAnOldAnswerChangesNothing(t *testing.T) {
	first, _ := diff.Next(nil, snapshot(t, 5, base))
	if e, ok := diff.Next(&first, snapshot(t, 4, replace(base, `"Status":"0"`, `"Status":"2"`))); ok {
		t.Errorf("an older answer gave %s", e.Type)
	}
}

func TestVanishedAndBack(t *testing.T) {
	first, _ := diff.Next(nil, snapshot(t, 0, base))
	gone, ok := diff.Vanished(&first, snapshot(t, 1, base))
	if !ok || gone.Type != schema.OrderVanished || gone.Data.Version != 2 {
		t.Fatalf("%v %+v", ok, gone)
	}
	if _, again := diff.Vanished(&gone, snapshot(t, 2, base)); again {
		t.Error("an order vanishes once")
	}
	back, ok := diff.Next(&gone, snapshot(t, 3, base))
	if !ok || back.Type != schema.OrderUpdated || back.Data.Version != 3 {
		t.Errorf("%v %+v", ok, back)
	}
}

func replace(s, old, repl string) string {
	for i := 0; i+len(old) <= len(s); i++ {
		if s[i:i+len(old)] == old {
			return s[:i] + repl + s[i+len(old):]
		}
	}
	panic("not in base: " + old)
}

// orders draws orders that resemble each other, so that any two of them have
// much in common.
func orders() *rapid.Generator[map[string]any] {
	text := rapid.SampledFrom([]string{"", "a", "b/~c", "中"})
	amount := rapid.SampledFrom([]any{"", "1.00", 1, "1.5", 1.50, "-3"})
	line := rapid.Custom(func(t *rapid.T) map[string]any {
		l := map[string]any{"ItemId": rapid.SampledFrom([]any{"1", 1, "2"}).Draw(t, "item")}
		maybe(t, l, "LbOrderStatus", rapid.SampledFrom([]any{"2", 3, "82", "weird"}).AsAny())
		maybe(t, l, "OrderCommission", amount.AsAny())
		maybe(t, l, "x/y~z", text.AsAny())
		return l
	})
	return rapid.Custom(func(t *rapid.T) map[string]any {
		o := map[string]any{"OrderSn": "A1", "ProgramId": "7", "Details": rapid.SliceOfN(line, 0, 3).Draw(t, "lines")}
		maybe(t, o, "Status", rapid.SampledFrom([]any{"-1", 0, "1", "2", "9"}).AsAny())
		maybe(t, o, "OrdersPrice", amount.AsAny())
		maybe(t, o, "SubId", text.AsAny())
		maybe(t, o, "Unknown", rapid.SampledFrom([]any{nil, 1, []int{1}, map[string]int{"a": 1}}).AsAny())
		return o
	})
}

func maybe(t *rapid.T, m map[string]any, name string, g *rapid.Generator[any]) {
	if rapid.Bool().Draw(t, name+" present") {
		m[name] = g.Draw(t, name)
	}
}

// TestBeforeRebuilds: for any two states, either nothing changed and a third
// look says so too, or the event alone gives back the state before.
func TestBeforeRebuilds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := draw(t, rt, "a"), draw(t, rt, "b")
		first, _ := diff.Next(nil, snapshot(t, 0, a))
		second, changed := diff.Next(&first, snapshot(t, 1, b))
		if !changed {
			if e, again := diff.Next(&first, snapshot(t, 2, b)); again {
				rt.Fatalf("no change, then %v", e.Data.Changes)
			}
			return
		}
		before, ok, err := diff.Before(&second)
		if !ok || err != nil {
			rt.Fatalf("Before: %v, %v", ok, err)
		}
		rebuilt := schema.NewEvent(schema.OrderCreated, schema.Data{Account: "main", Version: 1, ObservedAt: at, Order: before})
		if e, differs := diff.Next(&rebuilt, snapshot(t, 1, a)); differs {
			rt.Fatalf("rebuilt order differs from the one before: %v\na %s\nb %s", e.Data.Changes, a, b)
		}
	})
}

func draw(tb testing.TB, rt *rapid.T, label string) string {
	tb.Helper()
	b, err := json.Marshal(orders().Draw(rt, label))
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}
