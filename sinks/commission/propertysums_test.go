package commission

import (
	"maps"

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
		kept := "SELECT s.day || ' ' || " + dimension + " || ' ' || currency || ' ' || status, CAST(SUM(" + v.kept + `) AS BIGINT)
			FROM commission_sums s JOIN commission_dimensions d ON d.id = s.dimension_id WHERE s.kind = `
		anew := func(day string) string {
			return "SELECT " + day + " || ' ' || " + dimension + " || ' ' || currency || ' ' || status, CAST(SUM(" + v.anew + `) AS BIGINT)
				FROM commission_orders WHERE ` + day + " <> '' GROUP BY 1"
		}
		same(v.kept+" by day of order", kept+"1 GROUP BY 1", anew("day"))
		same(v.kept+" by day of settlement", kept+"2 GROUP BY 1", anew("charge_day"))
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

// compareLevels holds the coarser sums to the full ones.
func (m *machine) compareLevels(same func(what, kept, anew string)) {
	for _, v := range []string{"orders", "order_amount", "commission"} {
		from := ", CAST(SUM(s." + v + ") AS BIGINT) FROM commission_sums s JOIN commission_dimensions d ON d.id = s.dimension_id WHERE s.kind "
		for offset, columns := range map[string]string{"3": "program_id", "6": "sub_id"} {
			key := " || ' ' || s.day || ' ' || d.account || '/' || d." + columns + " || ' ' || s.currency || ' ' || s.status"
			same(v+" by "+columns, "SELECT (s.kind - "+offset+")"+key+from+"BETWEEN "+offset+" + 1 AND "+offset+" + 3 GROUP BY 1",
				"SELECT s.kind"+key+from+"BETWEEN 1 AND 3 GROUP BY 1")
		}
	}
}
