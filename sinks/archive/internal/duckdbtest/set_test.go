package duckdbtest

import (
	"fmt"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// DuckDB finds in the set that the runner has written what the log holds, and again
// after a compaction. Every wanted number is computed from the log's entries.
func TestSetFromTheLog(t *testing.T) {
	log, dir := archivedLog(t)
	checkSet(t, dir, log)
	compacted(t, dir)
	t.Run("compacted", func(t *testing.T) { checkSet(t, dir, log) })
}

func checkSet(t *testing.T, dir string, log []schema.Entry) {
	l := openLake(t, dir)
	for name, check := range map[string]func(testing.TB, *lake, []schema.Entry){
		"each sequence once": checkSequences, "partitions": checkPartitions, "sums": checkSums, "times": checkTimes,
		"lines": checkLines, "changes": checkChanges, "texts": checkTexts, "extra": checkExtra, "untyped": checkUntyped,
	} {
		t.Run(name, func(t *testing.T) { check(t, l, log) })
	}
}

func checkSequences(tb testing.TB, l *lake, log []schema.Entry) {
	var want []string
	for i := range log {
		e := &log[i]
		want = append(want, key(e.Sequence, e.Stored.UnixMicro(), e.Event.ID, e.Event.Type, e.Event.Data.Version,
			optional(e.Event.Data.PreviousID), e.Event.Data.Regression, e.Event.Data.TimeZone))
	}
	l.answers(tb, `SELECT sequence, epoch_us(stored_at), event_id, event_type, version, previous_id, regression, time_zone
		FROM events`, want)
	l.answers(tb, "SELECT count(*), count(DISTINCT sequence), count(DISTINCT event_id) FROM events",
		[]string{key(len(log), len(log), len(log))})
}

// optional is null when it is empty.
func optional(s string) schema.Text {
	if s == "" {
		return schema.Text{}
	}
	return schema.NewText(s)
}

func checkPartitions(tb testing.TB, l *lake, log []schema.Entry) {
	want := tally{}
	for i := range log {
		d := &log[i].Event.Data
		want.add(key(d.Account, d.ObservedAt.UTC().Format("2006-01-02")))
	}
	l.answers(tb, "SELECT account, event_date, count(*) FROM events GROUP BY ALL", want.rows())
	if len(want) != 2*len(accounts) {
		tb.Errorf("%d partitions; the log is to fill two dates of each account", len(want))
	}
	l.answers(tb, "SELECT count(*) FROM events WHERE event_date <> CAST(observed_at AT TIME ZONE 'UTC' AS DATE)", []string{"0"})
}

func checkSums(tb testing.TB, l *lake, log []schema.Entry) {
	want := tally{}
	for i := range log {
		o := &log[i].Event.Data.Order
		want.add(key(o.Currency, statusName(o.Status)), o.OrdersPrice, o.SiterCommission, o.ConfirmPrice)
	}
	l.answers(tb, `SELECT currency, status_name, count(*), sum(orders_price), sum(siter_commission), sum(confirm_price)
		FROM events GROUP BY ALL`, want.rows())
	l.answers(tb, "SELECT DISTINCT status, status_name FROM events",
		[]string{"-1|Invalid", "0|Pending", "1|Confirmed", "2|Approved", "NULL|NULL"})
}

func checkTimes(tb testing.TB, l *lake, log []schema.Entry) {
	observed, placed, charged, days := extremes{}, extremes{}, extremes{}, tally{}
	for i := range log {
		d := &log[i].Event.Data
		observed.add(d.Account, d.ObservedAt)
		if at, ok := instant(tb, d.TimeZone, d.Order.OrderTime); ok {
			placed.add(d.Account, at)
			days.add(key(d.Account, d.Order.OrderTime.String()[:10])) // as the network wrote it
		}
		if at, ok := instant(tb, d.TimeZone, d.Order.ChargeTime); ok {
			charged.add(d.Account, at)
		}
	}
	for column, want := range map[string]extremes{"observed_at": observed, "order_time": placed, "charge_time": charged} {
		l.answers(tb, fmt.Sprintf("SELECT account, epoch_us(min(%s)), epoch_us(max(%[1]s)) FROM events GROUP BY ALL", column), want.rows())
	}
	l.answers(tb, `SELECT account, CAST(order_time AT TIME ZONE time_zone AS DATE) AS day, count(*)
		FROM events WHERE order_time IS NOT NULL GROUP BY ALL`, days.rows())
}

func checkLines(tb testing.TB, l *lake, log []schema.Entry) {
	lengths, lines := tally{}, tally{}
	for i := range log {
		o := &log[i].Event.Data.Order
		length := schema.NewText(fmt.Sprint(len(o.Details)))
		if o.Details == nil {
			length = schema.Text{}
		}
		lengths.add(key(length))
		for j := range o.Details {
			line := &o.Details[j]
			lines.add(key(o.OrderSn, line.ItemName, lineStatus(line.LbOrderStatus), line.ItemCount), line.OrdersPrice)
		}
	}
	l.answers(tb, "SELECT len(lines), count(*) FROM events GROUP BY ALL", lengths.rows())
	l.answers(tb, `SELECT order_sn, l.item_name, l.lb_order_status, l.item_count, count(*), sum(l.orders_price)
		FROM (SELECT order_sn, unnest(lines) AS l FROM events) GROUP BY ALL`, lines.rows())
}

// lineStatus is null for a status that the specification does not know.
func lineStatus(t schema.Text) schema.Text {
	if t.String() == "4711" {
		return schema.Text{}
	}
	return t
}

func checkChanges(tb testing.TB, l *lake, log []schema.Entry) {
	want := tally{}
	for i := range log {
		for _, c := range log[i].Event.Data.Changes {
			want.add(key(log[i].Sequence, c.Path, optional(string(c.From)), optional(string(c.To))))
		}
	}
	l.answers(tb, `SELECT sequence, c.path, c."from", c."to", count(*)
		FROM (SELECT sequence, unnest(changes) AS c FROM events) GROUP BY ALL`, want.rows())
}

// checkTexts tells absent from empty, row by row.
func checkTexts(tb testing.TB, l *lake, log []schema.Entry) {
	var want []string
	found := 0
	for i := range log {
		o := &log[i].Event.Data.Order
		if o.ProgramName.String() == "茶壶 与 杯" && o.SubID == schema.NewText("") {
			found++
		}
		want = append(want, key(log[i].Sequence, o.OrderSn, o.ProgramID, o.ProgramName, o.SubID, o.WebsiteID, o.ChargeCurrency))
	}
	l.answers(tb, "SELECT sequence, order_sn, program_id, program_name, sub_id, website_id, charge_currency FROM events", want)
	l.answers(tb, "SELECT count(*) FROM events WHERE program_name = '茶壶 与 杯' AND sub_id = ''", []string{key(found)})
	if found == 0 {
		tb.Error("the log has no event for the filter")
	}
}

func checkExtra(tb testing.TB, l *lake, log []schema.Entry) {
	want := tally{}
	for i := range log {
		if o := &log[i].Event.Data.Order; o.Extra != nil {
			var n int
			if _, err := fmt.Sscanf(o.OrderSn.String(), "SN%d", &n); err != nil {
				tb.Fatal(err)
			}
			want.add(key(fmt.Sprintf("折扣 %d", n%7), "二"))
		} else {
			want.add(key(schema.Text{}, schema.Text{}))
		}
	}
	l.answers(tb, "SELECT extra ->> '$.Coupon' AS coupon, extra ->> '$.Nested.deep[1]' AS deep, count(*) FROM events GROUP BY ALL", want.rows())
}

// checkUntyped expects the texts that no typed column gives back, and no others.
func checkUntyped(tb testing.TB, l *lake, log []schema.Entry) {
	want := tally{}
	keep := func(field, text string, texts ...string) {
		for _, t := range texts {
			if text == t {
				want.add(key(field, text))
			}
		}
	}
	for i := range log {
		o := &log[i].Event.Data.Order
		keep("Status", o.Status.String(), "77")
		keep("OrderTime", o.OrderTime.String(), "soon")
		keep("OrdersPrice", o.OrdersPrice.String(), "12.5")
		if !o.OrdersPrice.IsZero() {
			keep("OrdersPrice", o.OrdersPrice.String(), "")
		}
		for j := range o.Details {
			keep(fmt.Sprintf("Details/%d/LbOrderStatus", j), o.Details[j].LbOrderStatus.String(), "4711")
		}
	}
	l.answers(tb, `SELECT field, json_extract_string(untyped, '$."' || field || '"') AS text, count(*)
		FROM (SELECT untyped, unnest(json_keys(untyped)) AS field FROM events) GROUP BY ALL`, want.rows())
}
