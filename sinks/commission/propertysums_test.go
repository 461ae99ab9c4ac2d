package commission

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// compareSums holds the sums to the rows of the orders, which the other
// comparisons hold to the events.
func (m *machine) compareSums(rt *rapid.T) {
	const dimension = "account || '/' || program_id || '/' || website_id || '/' || sub_id || '/' || link_id"
	same := func(what, kept, anew string) {
		rt.Helper()
		if got, want := m.sums(rt, kept), m.sums(rt, anew); !maps.Equal(got, want) {
			rt.Fatalf("%s after %d entries\ngot  %v\nwant %v", what, m.taken, got, want)
		}
	}
	for _, v := range []struct{ kept, anew string }{{"orders", "1"}, {"order_amount", "order_amount"}, {"commission", "commission"}} {
		posted := "SELECT " + dimension + " || ' ' || currency || ' ' || status, CAST(SUM(" + v.kept + `) AS BIGINT)
			FROM commission_sums s JOIN commission_dimensions d ON d.id = s.dimension_id WHERE s.kind = 3 GROUP BY 1`
		same(v.kept+" by day of posting", posted, "SELECT "+dimension+" || ' ' || currency || ' ' || status, CAST(SUM("+v.anew+`) AS BIGINT)
			FROM commission_orders GROUP BY 1`)
	}
	m.compareLevels(same)
	const pair = "account || '/' || program_id || ' ' || estimated_currency || ' '"
	for _, v := range []struct{ kept, anew string }{
		{"orders", "1"}, {"estimated_amount", "estimated_amount"}, {"estimated_commission", "estimated_commission"},
		{"confirmed_amount", "order_amount"}, {"confirmed_commission", "commission"},
	} {
		same("settled "+v.kept, "SELECT "+pair+" || confirmed_currency, "+v.kept+" FROM commission_settled",
			"SELECT "+pair+" || currency, CAST(SUM("+v.anew+") AS BIGINT) FROM commission_orders WHERE status IN ('1', '2') GROUP BY 1")
	}
	same("approved orders", "SELECT account || '/' || program_id, CAST(SUM(orders) AS BIGINT) FROM commission_approvals GROUP BY 1",
		"SELECT account || '/' || program_id, COUNT(*) FROM commission_orders WHERE status = '2' GROUP BY 1")
}

// compareLevels holds the sums of each level to the orders, those by day of posting
// to the full ones.
func (m *machine) compareLevels(same func(what, kept, anew string)) {
	const counted = " || ' ' || currency || ' ' || status"
	for _, v := range []struct{ kept, anew string }{{"orders", "1"}, {"order_amount", "order_amount"}, {"commission", "commission"}} {
		from := ", CAST(SUM(s." + v.kept + ") AS BIGINT) FROM commission_sums s JOIN commission_dimensions d ON d.id = s.dimension_id WHERE s.kind = "
		for level, column := range map[int]string{byProgram: "program_id", bySubID: "sub_id", byWebsite: "website_id", byLink: "link_id"} {
			key := " || ' ' || account || '/' || " + column + counted
			kind := func(day int64) string { return strconv.FormatInt(day+3*int64(level), 10) + " GROUP BY 1" }
			for day, name := range map[int64]string{byOrderDay: "day", bySettlementDay: "charge_day"} {
				same(v.kept+" by "+name+" and "+column, "SELECT s.day"+key+from+kind(day),
					"SELECT "+name+key+", CAST(SUM("+v.anew+") AS BIGINT) FROM commission_orders WHERE "+name+" <> '' GROUP BY 1")
			}
			same(v.kept+" by day of posting and "+column, "SELECT s.day"+key+from+kind(byPostingDay), "SELECT s.day"+key+from+"3 GROUP BY 1")
		}
	}
}

// compareFull holds what is added up in memory to what the database makes of the
// orders, and of the texts of the changes: the same rows in the same order.
func (m *machine) compareFull(rt *rapid.T) {
	group := rapid.SampledFrom([][]string{
		{"day", "program", "website", "sub_id", "link", "status"}, {"link", "month", "website"}, {"status", "sub_id", "account", "program"},
	}).Draw(rt, "group")
	for by, from := range map[string]string{
		ByOrder:      "SELECT day, dimension_id, currency, status, 1 AS orders, order_amount, commission FROM commission_orders",
		BySettlement: "SELECT charge_day AS day, dimension_id, currency, status, 1 AS orders, order_amount, commission FROM commission_orders WHERE charge_day <> ''",
		ByPosting:    "SELECT day, dimension_id, currency, status, orders, order_amount, commission FROM commission_sums WHERE kind = 3",
	} {
		got, err := m.books.Earnings(m.t.Context(), Query{By: by, Group: group})
		if err != nil {
			rt.Fatal(err)
		}
		var rows [][]string
		for _, e := range got {
			rows = append(rows, append(slices.Clone(e.Group), e.Currency, fmt.Sprint(e.Orders), fmt.Sprint(hundredths(e.OrderAmount)), fmt.Sprint(hundredths(e.Commission))))
		}
		if want := m.groups(rt, from, group); !slices.EqualFunc(rows, want, slices.Equal) {
			rt.Fatalf("%s by %q after %d entries\ngot  %v\nwant %v", by, group, m.taken, rows, want)
		}
	}
}

// groups lets the database add up sums by texts.
func (m *machine) groups(rt *rapid.T, from string, group []string) [][]string {
	column := map[string]string{"month": "SUBSTR(s.day, 1, 7)", "program": "d.program_id", "website": "d.website_id", "link": "d.link_id"}
	var key []string
	for _, g := range append(slices.Clone(group), "currency") {
		if column[g] != "" {
			g = column[g]
		}
		key = append(key, g)
	}
	const amounts = "SUM(s.orders), SUM(s.order_amount), SUM(s.commission)"
	by := strings.Join(key, ", ")
	all, err := collect(m.t.Context(), m.books.db, func(rows *sql.Rows) ([]string, error) {
		row := make([]string, len(key)+3)
		to := make([]any, len(row))
		for i := range row {
			to[i] = &row[i]
		}
		return row, rows.Scan(to...)
	}, "SELECT "+by+", "+amounts+" FROM ("+from+") AS s JOIN commission_dimensions d ON d.id = s.dimension_id GROUP BY "+by+somethingLeft)
	if err != nil {
		rt.Fatal(err)
	}
	slices.SortFunc(all, func(a, b []string) int { return slices.Compare(a[:len(key)], b[:len(key)]) })
	return all
}
