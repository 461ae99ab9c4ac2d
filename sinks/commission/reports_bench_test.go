package commission

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"
)

// made is a report of a benchmark; make returns how many rows it has.
type made struct {
	name string
	make func(context.Context, *Reader) (int, error)
}

// reportTimes makes each report three times, logs the middle of the times, and
// returns the longest of these; of those that list orders or cells by the hundred
// thousand only the log.
func reportTimes(b *testing.B, r *Reader) (longest time.Duration) {
	for _, v := range slices.Concat(summaries(), searches()) {
		longest = max(longest, timed(b, r, v))
	}
	for _, f := range []Filter{{}, {Account: "main"}} {
		timed(b, r, made{"report of everything " + f.Account, func(ctx context.Context, r *Reader) (int, error) { return rowsOf(r.Report(ctx, f)) }})
	}
	scanned(b, r)
	return longest
}

func timed(b *testing.B, r *Reader, v made) time.Duration {
	var took []time.Duration
	var n int
	for range 3 {
		start := time.Now()
		var err error
		if n, err = v.make(b.Context(), r); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.Logf("%-34s %6d rows %8s", v.name, n, took[1].Round(100*time.Microsecond))
	return took[1]
}

// scanned logs what a listing of the same orders costs that only reads their numbers,
// row by row: the floor of the report of everything.
func scanned(b *testing.B, r *Reader) {
	timed(b, r, made{"the orders of it, only read", func(ctx context.Context, r *Reader) (n int, err error) {
		var v [6]int64
		err = each(ctx, r.db, func(rows *sql.Rows) (bool, error) {
			n++
			return true, rows.Scan(&v[0], &v[1], &v[2], &v[3], &v[4], &v[5])
		}, "SELECT dimension_id, day, currency, status, order_amount, commission FROM commission_states")
		return n, err
	}})
}

func earnings(name string, q Query) made {
	return made{name, func(ctx context.Context, r *Reader) (int, error) { return rowsOf(r.Earnings(ctx, q)) }}
}

// allDimensions asks for tens of thousands of rows.
func allDimensions(by string) Query {
	return Query{Filter: Filter{Account: "main"}, By: by, Group: []string{"month", "program", "website", "sub_id", "link"}}
}

func summaries() []made {
	return []made{
		{"report: a week of a program", func(ctx context.Context, r *Reader) (int, error) {
			return rowsOf(r.Report(ctx, Filter{ProgramID: "100", From: "2026-03-08", To: "2026-03-14"}))
		}},
		{"totals", func(ctx context.Context, r *Reader) (int, error) { return rowsOf(r.Totals(ctx)) }},
		earnings("by month and program", Query{Group: []string{"month", "program"}}),
		earnings("by day and status", Query{Group: []string{"day", "status"}}),
		earnings("by day of settlement", Query{By: BySettlement, Group: []string{"day"}}),
		earnings("by day of posting", Query{By: ByPosting, Group: []string{"day"}}),
		earnings("by month of posting and website", Query{By: ByPosting, Group: []string{"month", "website"}}),
		earnings("by sub id", Query{Group: []string{"sub_id", "status"}}),
		earnings("by website", Query{Group: []string{"website"}}),
		earnings("by link and day", Query{Group: []string{"link", "day"}}),
		earnings("by program and sub id", Query{Group: []string{"program", "sub_id"}}),
		earnings("by month, program and sub id", Query{Group: []string{"month", "program", "sub_id"}}),
		earnings("the same by settlement", Query{By: BySettlement, Group: []string{"month", "program", "sub_id"}}),
		earnings("the same by posting", Query{By: ByPosting, Group: []string{"month", "program", "sub_id"}}),
		earnings("the same of an account", Query{Filter: Filter{Account: "main"}, Group: []string{"month", "program", "sub_id"}}),
		earnings("by month and all dimensions", allDimensions(ByOrder)),
		earnings("all dimensions by settlement", allDimensions(BySettlement)),
		earnings("all dimensions by posting", allDimensions(ByPosting)),
		earnings("by day of posting, program, sub id", Query{By: ByPosting, Group: []string{"day", "program", "sub_id"}}),
		earnings("a sub id by program and day", Query{Filter: Filter{SubID: "campaign-3"}, Group: []string{"program", "day"}}),
		{"statement", func(ctx context.Context, r *Reader) (int, error) {
			s, err := r.Statement(ctx, "2026-05", "")
			if err != nil {
				return 0, err
			}
			return len(s.Lines), nil
		}},
		{"ageing", func(ctx context.Context, r *Reader) (int, error) {
			return rowsOf(r.Ageing(ctx, Filter{}, "2026-05-15"))
		}},
		{"reversals", func(ctx context.Context, r *Reader) (int, error) { return rowsOf(r.Reversals(ctx, Filter{})) }},
		{"overdue", func(ctx context.Context, r *Reader) (int, error) {
			return rowsOf(r.Overdue(ctx, Filter{}, "2026-05-15"))
		}},
		{"estimated against confirmed", func(ctx context.Context, r *Reader) (int, error) {
			return rowsOf(r.EstimatedAndConfirmed(ctx, Filter{}))
		}},
	}
}

func drill(name string, d Drill) made {
	d.Sums = true
	return made{"drill: " + name, func(ctx context.Context, r *Reader) (int, error) {
		found, err := r.Drill(ctx, d)
		if err != nil {
			return 0, err
		}
		return len(found.Orders), nil
	}}
}

func searches() []made {
	var all []made
	for _, v := range []struct {
		name string
		f    OrderFilter
	}{
		{"orders: first page", OrderFilter{}},
		{"orders: newest first", OrderFilter{Newest: true}},
		{"orders: page 100", OrderFilter{Offset: 99 * fewOrders}},
		{"orders: a number", OrderFilter{OrderSn: "202603010000000777"}},
		{"orders: begin of numbers", OrderFilter{OrderSn: "20260301000000"}},
		{"orders: end of numbers", OrderFilter{OrderSn: "777"}},
		{"orders: a sub id", OrderFilter{Filter: Filter{SubID: "campaign-3"}}},
		{"orders: a sub id, newest first", OrderFilter{Filter: Filter{SubID: "campaign-3"}, Newest: true}},
		{"orders: a program and status", OrderFilter{Filter: Filter{ProgramID: "100", Status: "Approved"}}},
		{"orders: a week", OrderFilter{Filter: Filter{From: "2026-03-08", To: "2026-03-14"}}},
		{"orders: nothing found", OrderFilter{Filter: Filter{SubID: "none"}}},
	} {
		all = append(all, made{v.name, func(ctx context.Context, r *Reader) (int, error) {
			orders, _, err := r.Orders(ctx, v.f)
			return len(orders), err
		}})
	}
	return append(all,
		drill("all orders with their sums", Drill{}), drill("all by commission", Drill{Sort: "commission", Descending: true}),
		drill("all by sub id", Drill{Sort: "sub_id"}), drill("settled of a program", Drill{OrderFilter: OrderFilter{Filter: Filter{ProgramID: "100"}}, Outcome: OutcomeSettled}),
		drill("a day of settlement", Drill{OrderFilter: OrderFilter{Filter: Filter{From: "2026-04-10", To: "2026-04-10"}}, By: BySettlement}),
	)
}

func rowsOf[T any](all []T, err error) (int, error) { return len(all), err }
