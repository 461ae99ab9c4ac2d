package commission

import (
	"maps"
	"strconv"

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
