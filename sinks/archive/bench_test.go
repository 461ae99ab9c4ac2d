package archive

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// benchEvent makes an event of about 1.1 KB of a busy account: one line or two,
// many programs, sites and items, every second event a change of status.
func benchEvent(r *rand.Rand, n int) schema.Event {
	placed := epoch.Add(time.Duration(n) * time.Second)
	program := 1000 + r.IntN(20)
	order := schema.Order{
		ID: schema.NewText(fmt.Sprint(880000000 + n)), ProgramID: schema.NewText(fmt.Sprint(program)),
		ProgramName: schema.NewText(fmt.Sprintf("Programme %d", program)), WebsiteID: schema.NewText(fmt.Sprint(70 + r.IntN(9))),
		LinkID: schema.NewText(fmt.Sprint(90000 + r.IntN(500))), SubID: schema.NewText(fmt.Sprintf("spring-%d", r.IntN(100))),
		OrderSn: schema.NewText(fmt.Sprintf("2611%014d", n*7919)), OrderTime: schema.NewText(placed.Format(time.DateTime)),
		OrdersPrice: schema.MoneyFromCents(int64(1000 + r.IntN(100000))), SiterCommission: schema.MoneyFromCents(int64(100 + r.IntN(5000))),
		Currency: schema.NewText("CNY"), Status: schema.NewText(fmt.Sprint(r.IntN(4) - 1)),
	}
	for range 1 + r.IntN(5)/4 {
		item := r.IntN(5000)
		order.Details = append(order.Details, schema.OrderLine{
			GoodsCate: schema.NewText(fmt.Sprint(500 + item%40)), ItemCateName: schema.NewText("Household"),
			ItemID: schema.NewText(fmt.Sprint(1000000 + item)), ItemName: schema.NewText(fmt.Sprintf("Item %d with a name", item)),
			ItemPrice: schema.NewText(fmt.Sprintf("%d.%02d", item%300, item%100)), ItemCount: schema.NewText(fmt.Sprint(1 + r.IntN(3))),
			OrdersPrice: order.OrdersPrice, OrderCommission: order.SiterCommission, OrderSn: order.OrderSn,
			ItemImg: schema.NewText(fmt.Sprintf("https://img.example.com/i/%d.jpg", item)), LbOrderStatus: schema.NewText("2"),
		})
	}
	data := schema.Data{Account: "main", TimeZone: "Asia/Shanghai", Version: 1, ObservedAt: epoch, Order: order}
	if n%2 == 0 {
		return schema.NewEvent(schema.OrderCreated, data)
	}
	data.Version = 2
	data.Changes = []schema.Change{
		{Path: "/Status", From: []byte(`"0"`), To: []byte(`"1"`)},
		{Path: "/Details/0/LbOrderStatus", From: []byte(`"2"`), To: []byte(`"3"`)},
	}
	return schema.NewEvent(schema.StatusChanged, data)
}

// BenchmarkArchive measures Write and Flush onto the disk of the temporary
// folder, with its fsyncs: ns/op is the time of one event.
func BenchmarkArchive(b *testing.B) {
	const batch = 1000
	r := rand.New(rand.NewPCG(1, 2))
	entries := make([]schema.Entry, batch)
	for i := range entries {
		entries[i].Event = benchEvent(r, i)
		raw, err := entries[i].Event.MarshalJSON()
		if err != nil {
			b.Fatal(err)
		}
		entries[i].Raw = raw
	}
	a, err := Open(b.Context(), Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	raw := 0
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += batch {
		b.StopTimer()
		for i := range entries { // other orders, in no particular order
			e := &entries[i]
			e.Sequence = uint64(n + i + 1)
			e.Stored = epoch.Add(time.Duration(n+i) * time.Millisecond)
			order := &e.Event.Data.Order
			order.OrderSn = schema.NewText(fmt.Sprintf("2611%014d", r.IntN(1e9)))
			e.Event.Data.ObservedAt = e.Stored
			e.Event.ID = schema.EventID(e.Event.Key(), e.Event.Data.Version)
			raw += len(e.Raw)
		}
		b.StartTimer()
		if err := a.Write(b.Context(), entries); err != nil {
			b.Fatal(err)
		}
	}
	if err := a.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	s := a.Stats()
	b.ReportMetric(float64(s.Rows)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(s.Bytes)/float64(s.Rows), "B/event")
	b.ReportMetric(float64(raw)/float64(s.Rows), "rawB/event")
}
