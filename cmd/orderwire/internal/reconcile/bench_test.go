package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
)

// benchVariable sets how many orders BenchmarkRun compares; 20,000 without it. The
// bound of the memory is looked at with 1,000,000.
const benchVariable = "ORDERWIRE_BENCH_ORDERS"

// madeLog has one event of each order, made when it is asked for.
type madeLog struct {
	memoryLog
	orders int
}

func (l *madeLog) event(i int) schema.Entry {
	o := order(fmt.Sprintf("SN%09d", i*7919%l.orders), "0", int64(i%5000))
	e := schema.NewEvent(schema.OrderCreated, schema.Data{Account: "main", Version: 1, TimeZone: "UTC", ObservedAt: polled, Order: o})
	return schema.Entry{Sequence: uint64(i + 1), Stored: polled, Event: e}
}

func (l *madeLog) Bounds(context.Context) (first, last uint64, err error) {
	return 1, uint64(l.orders), nil
}

func (l *madeLog) Follow(ctx context.Context, after uint64) (<-chan *message.Message, error) {
	out := make(chan *message.Message, 100)
	go func() {
		defer close(out)
		for i := int(after); i < l.orders; i++ {
			e := l.event(i)
			m, err := pipeline.NewMessage(&e.Event, 0, 0)
			if err != nil {
				return
			}
			m.Metadata[pipeline.MetaSequence] = strconv.Itoa(i + 1)
			m.Metadata[pipeline.MetaStored] = "1"
			select {
			case out <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// BenchmarkRun compares books with a log, and reports the most memory in use while
// it does. The log makes its events meanwhile.
func BenchmarkRun(b *testing.B) {
	orders := 20_000
	if n, err := strconv.Atoi(os.Getenv(benchVariable)); err == nil {
		orders = n
	}
	log := &madeLog{orders: orders}
	books, err := commission.Open(b.Context(), filepath.Join(b.TempDir(), "books.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = books.Close() }()
	for i := 0; i < orders; {
		var batch []schema.Entry
		for ; i < orders && len(batch) < 5000; i++ {
			batch = append(batch, log.event(i))
		}
		if err := books.Write(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	var most uint64
	for b.Loop() {
		start := time.Now()
		r, err := Run(b.Context(), Config{
			Books: books.Reader, Against: []string{Log}, Log: log, Logger: slog.New(slog.DiscardHandler),
			Progress: func(string, string, int64, int64) {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		if r.Failed != nil || r.Differences > 0 || r.Sides[1].Agree != int64(orders) {
			b.Fatalf("%v, %+v", r.Failed, r.Report)
		}
		b.ReportMetric(float64(orders)/time.Since(start).Seconds(), "orders/s")
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(most)/(1<<20), "MiB")
}
