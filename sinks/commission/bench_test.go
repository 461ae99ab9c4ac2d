package commission

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

const benchBatch = GoodBatch

// history returns the entries of n orders with 5 versions each, in an order in
// which their versions are far apart, as in a log.
func history(n int) []schema.Entry {
	rnd := rand.New(rand.NewPCG(1, 2))
	all := make([]schema.Entry, 0, 5*n)
	for v := uint64(1); v <= 5; v++ {
		for _, i := range rnd.Perm(n) {
			all = append(all, entry(uint64(len(all)+1), v, order(fmt.Sprintf("2026030112%08d", i), func(o *schema.Order) {
				o.ProgramID = schema.NewText(fmt.Sprint(100 + i%20))
				o.WebsiteID = schema.NewText(fmt.Sprint(9000 + i%10))
				o.SubID = schema.NewText(fmt.Sprint("campaign-", i%7))
				o.OrderTime = schema.NewText(fmt.Sprintf("2026-%02d-%02d 10:00:00", 1+i%3, 1+i%28))
				o.Status = schema.NewText(fmt.Sprint(min(int(v)-1, 2)))
			})))
		}
	}
	return all
}

// BenchmarkWrite posts batches of GoodBatch events, each batch on disk.
func BenchmarkWrite(b *testing.B) {
	for _, orders := range []int{4_000, 40_000} {
		b.Run(fmt.Sprintf("orders=%d", orders), func(b *testing.B) {
			all := history(orders)
			for b.Loop() {
				b.StopTimer()
				books, _ := open(b)
				b.StartTimer()
				for i := 0; i < len(all); i += benchBatch {
					write(b, books, all[i:i+benchBatch]...)
				}
			}
			b.ReportMetric(float64(len(all)*b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkReport sums 20,000 orders.
func BenchmarkReport(b *testing.B) {
	books, _ := open(b)
	all := history(20_000)
	for i := 0; i < len(all); i += benchBatch {
		write(b, books, all[i:i+benchBatch]...)
	}
	for _, f := range []Filter{{}, {Account: "main", From: "2026-02-01", To: "2026-02-07"}, {SubID: "campaign-3"}, {Status: "Approved"}} {
		b.Run(fmt.Sprintf("%+v", f), func(b *testing.B) {
			var rows int
			for b.Loop() {
				rows = len(report(b, books.Reader, f))
			}
			b.ReportMetric(float64(rows), "rows")
		})
	}
	b.Run("totals", func(b *testing.B) {
		for b.Loop() {
			if _, err := books.Totals(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
