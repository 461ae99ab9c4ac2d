package network_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

// Any page of any list, between any changes, is what the table says.
func TestPagesAgreeWithTheTable(t *testing.T) {
	f := start(t, nil)
	f.publisher(network.Publisher{AppKey: "other", AppSecret: "x", Websites: []string{"2001"}})
	sim := f.simulator(network.SimulatorConfig{Seed: 1, History: 30 * time.Hour}, 2000)
	dice := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		for range 6 {
			f.randomList(t, dice)
		}
		f.clock.advance(time.Duration(dice.IntN(3)*dice.IntN(4000)) * time.Second)
		step(t, sim, 1+dice.Int64N(300))
		f.checkCounts(t)
	}
}

var listColumns = map[string]string{"UpdateTime": "updated_at", "OrderDatatime": "order_time", "ChargeTime": "charge_time"}

// randomList reads some pages of a list, now in a row and now not.
func (f *fixture) randomList(t *testing.T, dice *rand.Rand) {
	t.Helper()
	field := slices.Sorted(maps.Keys(listColumns))[dice.IntN(3)]
	span := []int64{0, 59, 60, 3600, 86400}[dice.IntN(5)]
	to := f.clock.unix.Load() - []int64{0, 0, 7, 4000, 90000}[dice.IntN(5)] + dice.Int64N(2)*30
	size := []int64{1, 7, 50, 200}[dice.IntN(4)]
	p := params{"OrderField": field, "Stime": to - span, "Etime": to, "PageSize": size}
	where := ""
	if dice.IntN(3) == 0 {
		p["Status"], where = 1, " AND status = 1"
	}
	column := listColumns[field]
	var want []string
	for _, row := range f.query(`SELECT id FROM orders WHERE publisher_id = 1 AND `+column+` BETWEEN ? AND ?`+where+
		` ORDER BY `+column+`, id`, to-span, to) {
		want = append(want, fmt.Sprint(row[0]))
	}
	number := 1 + dice.Int64N(int64(len(want))/size+2)
	for range 4 {
		p["Page"] = number
		got := f.list(p)
		begin := min((number-1)*size, int64(len(want)))
		ids := want[begin:min(begin+size, int64(len(want)))]
		if got.Total != int64(len(want)) || len(got.List) != len(ids) {
			t.Fatalf("%v: %d of %d records, want %d of %d", p, len(got.List), got.Total, len(ids), len(want))
		}
		for i, raw := range got.List {
			if o := parse(t, raw); o.ID.String() != ids[i] {
				t.Fatalf("%v: record %d is %s, want %s", p, i, o.ID, ids[i])
			}
		}
		number = max(1, number+dice.Int64N(3)-dice.Int64N(2))
	}
}

// checkCounts compares the orders counted by the minute with the orders.
func (f *fixture) checkCounts(t *testing.T) {
	t.Helper()
	for _, column := range listColumns {
		counted := `SELECT publisher_id, minute, orders FROM order_counts WHERE orders <> 0 AND field = '` + column + `'`
		there := `SELECT publisher_id, ` + column + ` / 60, COUNT(*) FROM orders WHERE ` + column + ` IS NOT NULL GROUP BY 1, 2`
		for _, query := range []string{counted + " EXCEPT " + there, there + " EXCEPT " + counted} {
			if rows := f.query(query); len(rows) > 0 {
				t.Fatalf("%s: %d minutes are counted wrong, the first is %v", column, len(rows), rows[0])
			}
		}
	}
}
