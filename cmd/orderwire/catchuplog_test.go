package main_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

const (
	// eventsVariable is the number of events that [BenchmarkCatchUp] archives.
	eventsVariable = "ORDERWIRE_BENCH_EVENTS"
	// logVariable names a folder in which the filled log stays for the next run.
	// Empty: the log is filled anew.
	logVariable = "ORDERWIRE_BENCH_LOG"
)

// catchUpEvents is the number of events without eventsVariable.
const catchUpEvents = 2_000_000

// bigLog is a data directory whose log holds the life of many orders: each is
// created, and its status changes some thousand events later.
type bigLog struct {
	dir     string
	events  int
	created int // orders that have their first event
	changed int // orders that have both
}

// newBigLog fills a log through the Publisher, or takes the one that is there.
func newBigLog(b *testing.B) *bigLog {
	b.Helper()
	l := &bigLog{dir: os.Getenv(logVariable), events: catchUpEvents}
	if text := os.Getenv(eventsVariable); text != "" {
		var err error
		if l.events, err = strconv.Atoi(text); err != nil || l.events < 1 {
			b.Fatalf("%s is no number of events: %q", eventsVariable, text)
		}
	}
	if l.dir == "" {
		l.dir = b.TempDir()
	}
	mark := filepath.Join(l.dir, "filled")
	have, err := os.ReadFile(mark)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.fill(b)
		err = os.WriteFile(mark, strconv.AppendInt(nil, int64(l.events), 10), 0o600)
	case err == nil && string(have) != strconv.Itoa(l.events):
		b.Fatalf("%s holds %s events, not %d: remove it", l.dir, have, l.events)
	}
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func (l *bigLog) fill(b *testing.B) {
	b.Helper()
	server, err := jetstream.StartEmbedded(b.Context(), jetstream.EmbeddedConfig{Dir: l.dir})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	log := pipelinetest.Log(b, server.URL())
	publisher := log.Publisher()
	const step = 4 * jetstream.MaxBatch
	for done := 0; done < l.events; done += step {
		if err := publisher.Publish(pipeline.Topic, l.next(b, log, min(step, l.events-done))...); err != nil {
			b.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
}

// next makes n events: new orders, and half as many changes once there are
// orders to change.
func (l *bigLog) next(b *testing.B, log *jetstream.Log, n int) []*message.Message {
	b.Helper()
	msgs := make([]*message.Message, 0, n)
	changes := min(n/2, l.created-l.changed)
	for i := range n {
		var event schema.Event
		if i < changes {
			event = bigEvent(l.changed, 2)
			l.changed++
		} else {
			event = bigEvent(l.created, 1)
			l.created++
		}
		known, _ := log.Known(event.Key())
		m, err := pipeline.NewMessage(&event, known.Sequence, uint64(i))
		if err != nil {
			b.Fatal(err)
		}
		msgs = append(msgs, m)
	}
	return msgs
}

// bigEvent makes a version of an order, in a document of 1.1 KB: one line or
// two, two accounts, many programs, sites and items. The first half of a million
// orders are seen on one day, the rest on the next.
func bigEvent(n int, version uint64) schema.Event {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	epoch := time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)
	placed, program := epoch.Add(time.Duration(n)*100*time.Millisecond), 1000+r.IntN(20)
	order := schema.Order{
		ID: text(880000000 + n), ProgramID: text(program), ProgramName: text("Programme ", program),
		WebsiteID: text(70 + r.IntN(9)), LinkID: text(90000 + r.IntN(500)), SubID: text("spring-", r.IntN(100)),
		OrderSn: schema.NewText(fmt.Sprintf("2611%014d", n*7919%1e9)), OrderTime: text(placed.Format(time.DateTime)),
		OrdersPrice: schema.MoneyFromCents(r.Int64N(100000)), SiterCommission: schema.MoneyFromCents(r.Int64N(5000)),
		Currency: text("CNY"), Status: text(0),
	}
	for range 1 + r.IntN(5)/4 {
		item := r.IntN(5000)
		order.Details = append(order.Details, schema.OrderLine{
			GoodsCate: text(500 + item%40), ItemCateName: text("Household"), ItemID: text(1000000 + item), ItemName: text("Item ", item, " with a name"),
			ItemPrice: text(item%300, ".50"), ItemCount: text(1 + r.IntN(3)), OrdersPrice: order.OrdersPrice, OrderCommission: order.SiterCommission,
			OrderSn: order.OrderSn, ItemImg: text("https://img.example.com/items/large/", item, ".jpg"), ShopTitle: text("Shop ", item%200),
			LbOrderStatus: text(2),
		})
	}
	data := schema.Data{
		Account: [...]string{"main", "second"}[n%2], TimeZone: "Asia/Shanghai", Version: version, Order: order,
		ObservedAt: placed.Add(time.Duration(r.Int64N(int64(time.Minute)))),
	}
	if version == 1 {
		return schema.NewEvent(schema.OrderCreated, data)
	}
	data.Order.Status, data.Order.Details[0].LbOrderStatus = text(1), text(3)
	data.Changes = []schema.Change{
		{Path: "/Status", From: []byte(`"0"`), To: []byte(`"1"`)},
		{Path: "/Details/0/LbOrderStatus", From: []byte(`"2"`), To: []byte(`"3"`)},
	}
	return schema.NewEvent(schema.StatusChanged, data)
}

func text(parts ...any) schema.Text { return schema.NewText(fmt.Sprint(parts...)) }
