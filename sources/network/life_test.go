package network

import (
	"fmt"
	"slices"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// legalLines are the moves of an order line, written down apart from the
// tables that the simulation follows.
var legalLines = map[string][]string{
	"To be paid":       {"Paid", "Invalid"},
	"Paid":             {"In progress", "Shipped", "Refund", "System locked", "Unknown"},
	"Unknown":          {"In progress"},
	"System locked":    {"In progress", "Invalid"},
	"In progress":      {"Shipped", "Refund"},
	"Shipped":          {"In delivery"},
	"In delivery":      {"Received", "Rejected"},
	"Rejected":         {"Return"},
	"Received":         {"Settling", "Return", "In dispute"},
	"Settling":         {"Settled"},
	"Settled":          {"Completed"},
	"Completed":        {"In dispute", "Return"},
	"In dispute":       {"Dispute resolved", "Dispute failed"},
	"Dispute resolved": {"Refund"},
	"Dispute failed":   {"Completed"},
	"Return":           {"Refund"},
}

var legalSettlements = map[string][]string{
	"Pending":   {"Confirmed", "Invalid"},
	"Confirmed": {"Confirmed", "Approved", "Invalid"}, // to itself: the amounts change
	"Approved":  {"Approved", "Invalid"},
}

// observer collects the moves of many lives.
type observer struct {
	t     *testing.T
	moves map[string]int
}

// step makes the next change of a life and checks it; false at its end.
func (o *observer) step(l *life, tr *track, at int64) bool {
	before, lines := *l.order, slices.Clone(l.lines)
	tr.schedule(l, 1)
	if !tr.due.Valid {
		return false
	}
	reason := tr.take(l, 1, at)
	if reason == "" {
		o.t.Error("a change without a reason")
	}
	o.settlement(before, *l.order, at)
	o.lineMoves(before, lines, l)
	return true
}

func (o *observer) count(legal map[string][]string, from, to string) {
	o.moves[from+" to "+to]++
	if !slices.Contains(legal[from], to) {
		o.t.Errorf("%s to %s is no move", from, to)
	}
}

func (o *observer) settlement(before, after order, at int64) {
	if before.status == after.status && before.charge == after.charge {
		return
	}
	o.count(legalSettlements, before.status.String(), after.status.String())
	if after.charge != before.charge && after.charge.at != at {
		o.t.Error("amounts changed and ChargeTime did not")
	}
	switch c := after.charge; {
	case after.status == schema.Invalid && (c.price != 0 || c.commission != 0):
		o.t.Error("an invalid order is worth something")
	case after.status != schema.Invalid && (c.price <= 0 || c.commission < 0 || c.commission > c.price):
		o.t.Errorf("%s for %d with a commission of %d", after.status, c.price, c.commission)
	case before.charge.at > 0 && c.price > before.charge.price:
		o.t.Error("a settlement grew")
	}
}

func (o *observer) lineMoves(before order, lines []schema.OrderLine, l *life) {
	moved := 0
	for i := range lines {
		from, to := lineState(&lines[i]), lineState(&l.lines[i])
		if from == to {
			continue
		}
		moved++
		o.count(legalLines, from.String(), to.String())
		if l.lines[i].OrderStatus.String() != l.program.words[to] {
			o.t.Error("the platform's own word does not follow the state")
		}
	}
	settled := before.status != l.order.status || before.charge != l.order.charge
	if settled == (moved > 0) {
		o.t.Errorf("a change moved %d lines, and the settlement: %v", moved, settled)
	}
}

// Every life ends, takes legal moves only, and all moves and states occur.
func TestLives(t *testing.T) {
	people := &cast{seed: 1, promoters: []promoter{{1, []string{"w"}}}, links: map[[2]string]string{}}
	for i := range catalogue {
		people.links[[2]string{"w", catalogue[i].id}] = fmt.Sprint(i)
	}
	seen := observer{t: t, moves: map[string]int{}}
	keys := map[string]bool{}
	longest := int64(0)
	for number := range uint64(3000) {
		b, err := people.born(t.Context(), nil, number)
		if err != nil {
			t.Fatal(err)
		}
		checkBirth(t, b)
		keys[b.order.program+" "+b.order.sn] = true
		tr := track{number: int64(number)}
		for at := int64(1); seen.step(&b.life, &tr, at); at++ {
			if at > 200 {
				t.Fatalf("order %d does not come to an end", number)
			}
		}
		longest = max(longest, tr.moves)
	}
	if len(keys) != 3000 {
		t.Errorf("%d keys for 3000 orders", len(keys))
	}
	for _, legal := range []map[string][]string{legalLines, legalSettlements} {
		for from, all := range legal {
			for _, to := range all {
				if seen.moves[from+" to "+to] == 0 {
					t.Errorf("%s to %s never happened", from, to)
				}
			}
		}
	}
	t.Logf("at most %d moves in a life", longest)
}

func checkBirth(t *testing.T, b newborn) {
	t.Helper()
	var price, commission cents
	for i := range b.lines {
		p, err1 := b.lines[i].OrdersPrice.Cents()
		c, err2 := b.lines[i].OrderCommission.Cents()
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		price, commission = price+cents(p), commission+cents(c)
	}
	if price != b.order.price || commission != b.order.commission || price <= 0 || len(b.lines) < 1 || len(b.lines) > 4 {
		t.Errorf("order of %d, %d with %d lines of %d, %d", b.order.price, b.order.commission, len(b.lines), price, commission)
	}
}

func TestAmounts(t *testing.T) {
	for _, tt := range []struct {
		got, want cents
	}{
		{exchange(7_10, "CNY", "USD"), 1_00},
		{exchange(1_00, "USD", "CNY"), 7_10},
		{exchange(5, "CNY", "CNY"), 5},
		{exchange(1, "CNY", "USD"), 0}, // 0.0014
		{exchange(4, "CNY", "USD"), 1}, // 0.0056
		{(&program{rate: 725}).commissionOf(100_00), 7_25},
		{(&program{rate: 500}).commissionOf(10), 1}, // 0.005, half up
		{(&program{rate: 500}).commissionOf(9), 0},
	} {
		if tt.got != tt.want {
			t.Errorf("got %d, want %d", tt.got, tt.want)
		}
	}
	for c, want := range map[cents]string{0: "0.00", 5: "0.05", 12_30: "12.30", -7: "-0.07", 99_999_999_99: "99999999.99"} {
		if got := string(appendAmount(nil, "A", c)); got != `,"A":"`+want+`"` || c.money().String() != want {
			t.Errorf("%d: %s, %s", c, got, c.money())
		}
	}
}
