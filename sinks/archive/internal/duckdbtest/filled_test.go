package duckdbtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

const (
	fillAccounts = 3
	fillDays     = 8
	fillBatch    = 1000
	fillAtOnce   = 4 // batches
)

// filledLog is a log in a server of the test's own process, which survives the
// programs that read it, and what the test knows of its events.
type filledLog struct {
	url    string
	nc     *nats.Conn
	log    *jetstream.Log
	leases natsjs.KeyValue
	last   int // events, and sequence of the newest
	sums   tally
}

// newLog makes an empty log.
func newLog(tb testing.TB) *filledLog {
	tb.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: tb.TempDir(), NoSigs: true, NoLog: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	go s.Start()
	tb.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(30 * time.Second) {
		tb.Fatal("the server does not start")
	}
	return openFilled(tb, s.ClientURL())
}

func openFilled(tb testing.TB, url string) *filledLog {
	tb.Helper()
	f := &filledLog{url: url, log: pipelinetest.Log(tb, url), sums: tally{}}
	var err error
	if f.nc, err = nats.Connect(url); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(f.nc.Close)
	js, err := natsjs.New(f.nc)
	if err != nil {
		tb.Fatal(err)
	}
	if f.leases, err = js.KeyValue(tb.Context(), jetstream.LeaseBucket); err != nil {
		tb.Fatal(err)
	}
	return f
}

// close lets go of a log whose server is about to end.
func (f *filledLog) close(tb testing.TB) {
	tb.Helper()
	f.nc.Close()
	if err := f.log.Close(); err != nil {
		tb.Fatal(err)
	}
}

// fill publishes n more events of about 1.1 KB, of several accounts, currencies
// and dates, in no strict order.
func (f *filledLog) fill(tb testing.TB, n int) {
	tb.Helper()
	f.fillWith(tb, n, fillEvent)
}

func (f *filledLog) fillWith(tb testing.TB, n int, event func(r *rand.Rand, n int) schema.Event) {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, uint64(f.last)))
	var group errgroup.Group
	group.SetLimit(fillAtOnce)
	publisher, end := f.log.Publisher(), f.last+n
	for f.last < end {
		var batch []*message.Message
		for len(batch) < fillBatch && f.last < end {
			e := event(r, f.last)
			f.sums.add(key(e.Data.Account, e.Data.Order.Currency), e.Data.Order.OrdersPrice, e.Data.Order.SiterCommission)
			batch = append(batch, unconditional(tb, e))
			f.last++
		}
		group.Go(func() error { return publisher.Publish(pipeline.Topic, batch...) })
	}
	if err := group.Wait(); err != nil {
		tb.Fatal(err)
	}
	if last, err := f.log.Last(tb.Context()); err != nil || last != uint64(f.last) {
		tb.Fatalf("the log ends at %d, want %d: %v", last, f.last, err)
	}
}

func fillEvent(r *rand.Rand, n int) schema.Event {
	e := benchEvent(r, n)
	d := &e.Data
	order := n / 2 // of which each has two versions
	d.Account = fmt.Sprintf("account-%d", order%fillAccounts)
	d.ObservedAt = time.Date(2026, 11, 1+n/10_000%fillDays, 0, 0, 0, 0, time.UTC).Add(time.Duration(n%10_000) * time.Second)
	d.Order.ProgramID = schema.NewText(fmt.Sprint(1000 + order%20))
	d.Order.OrderSn = schema.NewText(fmt.Sprintf("2611%014d", order))
	d.Order.Currency = schema.NewText([]string{"CNY", "USD"}[order/fillAccounts%2])
	return schema.NewEvent(e.Type, e.Data)
}

// free gives the archive's lease to the next process. The one that had it is
// dead, and the lease would run out by itself in some seconds.
func (f *filledLog) free(tb testing.TB) {
	tb.Helper()
	if err := f.leases.Delete(tb.Context(), "sink.archive"); err != nil && !errors.Is(err, natsjs.ErrKeyNotFound) {
		tb.Fatal(err)
	}
}

// once fails unless DuckDB finds each event of the log once below a folder, with
// the log's sums.
func (f *filledLog) once(tb testing.TB, folder string) {
	tb.Helper()
	l := openLake(tb, folder)
	l.answers(tb, "SELECT count(*), count(DISTINCT sequence), count(DISTINCT event_id), min(sequence), max(sequence) FROM events",
		[]string{key(f.last, f.last, f.last, 1, f.last)})
	l.answers(tb, "SELECT account, currency, count(*), sum(orders_price), sum(siter_commission) FROM events GROUP BY ALL", f.sums.rows())
}
