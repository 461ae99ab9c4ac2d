package archive

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/schema"
)

// Random logs, cuts, crashes and errors: in the end every event stands in one
// row of one file, as it was.
func TestExactlyOnceProperty(t *testing.T) {
	t.Parallel()
	onPlaces(t, exactlyOnceProperty)
}

func exactlyOnceProperty(t *testing.T, fresh func(testing.TB) string) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := fresh(t)
		w := &world{
			log: drawLog(rt),
			cfg: Config{
				Dir: dir, RollBytes: rapid.Int64Range(3000, 30000).Draw(rt, "roll bytes"),
				RollEvery: time.Duration(rapid.IntRange(5, 30).Draw(rt, "roll every")) * time.Second,
			},
		}
		for range rapid.IntRange(0, 3).Draw(rt, "lives") {
			w.live(rt, rapid.IntRange(0, 80).Draw(rt, "changes until the fault"), rapid.Bool().Draw(rt, "crash"))
		}
		w.live(rt, -1, false)
		exactlyOnce(rt, dir, w.log)
	})
}

type world struct {
	log []schema.Entry
	cfg Config
}

// live runs a process over the log until it ends or crashes.
func (w *world) live(rt *rapid.T, faultAt int, crash bool) {
	n := 0
	before := func(string, string) error {
		n++
		switch {
		case faultAt < 0 || n <= faultAt:
			return nil
		case crash:
			return errCrash
		case n == faultAt+1:
			return syscall.ENOSPC
		}
		return nil
	}
	ctx := context.Background()
	at, err := openAt(ctx, w.cfg.Dir, before)
	if err != nil {
		rt.Fatal(err)
	}
	a, err := openPlace(ctx, w.cfg, at)
	for errors.Is(err, syscall.ENOSPC) {
		if at, err = openAt(ctx, w.cfg.Dir, before); err != nil {
			rt.Fatal(err)
		}
		a, err = openPlace(ctx, w.cfg, at)
	}
	if err == nil {
		defer func() { _ = a.lock.Close() }()
		for err = w.follow(rt, a); errors.Is(err, syscall.ENOSPC); {
			err = w.follow(rt, a)
		}
	}
	if err != nil && !errors.Is(err, errCrash) {
		rt.Fatal(err)
	}
}

// follow writes the log from the archive's position to the end.
func (w *world) follow(rt *rapid.T, a *Archive) error {
	position, err := a.Position(context.Background())
	if err != nil {
		return err
	}
	rest := behind(w.log, position)
	for len(rest) > 0 {
		n := min(len(rest), rapid.IntRange(1, 12).Draw(rt, "batch"))
		if err := a.Write(context.Background(), rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
		if rapid.IntRange(0, 7).Draw(rt, "flush") == 0 {
			if err := a.Flush(context.Background()); err != nil {
				return err
			}
		}
	}
	return a.Flush(context.Background())
}

// drawLog makes a log with gaps and uneven broker times.
func drawLog(rt *rapid.T) []schema.Entry {
	log := make([]schema.Entry, rapid.IntRange(0, 12).Draw(rt, "events"))
	sequence, stored := uint64(0), epoch
	for i := range log {
		sequence += uint64(rapid.SampledFrom([]int{1, 1, 1, 2, 50}).Draw(rt, "step"))
		stored = stored.Add(time.Duration(rapid.IntRange(-1, 5).Draw(rt, "pause")) * time.Second)
		log[i] = entry(rt, sequence, drawEvent(rt, i))
		log[i].Stored = stored
	}
	return log
}

func drawEvent(rt *rapid.T, n int) schema.Event {
	version := rapid.Uint64Range(1, 3).Draw(rt, "version")
	kind := schema.OrderCreated
	if version > 1 {
		kind = rapid.SampledFrom([]schema.EventType{schema.StatusChanged, schema.OrderUpdated, schema.OrderVanished}).Draw(rt, "type")
	}
	e := schema.NewEvent(kind, schema.Data{
		Account:    rapid.SampledFrom([]string{"main", "a.b/Ünï"}).Draw(rt, "account"),
		TimeZone:   rapid.SampledFrom([]string{"Asia/Shanghai", "America/Sao_Paulo", "UTC", "", "nowhere"}).Draw(rt, "zone"),
		Version:    version,
		ObservedAt: epoch.Add(time.Duration(rapid.Int64Range(-3e12, 3e13).Draw(rt, "observed"))),
		Regression: rapid.Bool().Draw(rt, "regression"), Order: drawOrder(rt, n), Changes: drawChanges(rt),
	})
	if rapid.Bool().Draw(rt, "extensions") {
		e.Extensions = jsontext.Value(`{"traceparent":"00-ab"}`)
	}
	return e
}

func drawOrder(rt *rapid.T, n int) schema.Order {
	o := schema.Order{
		ProgramID: drawText(rt), ProgramName: drawText(rt), SubID: drawText(rt), OrderSn: schema.NewText(fmt.Sprintf("%c-%d", 'A'+n%3, n%7)),
		OrderTime: drawTime(rt), ChargeTime: drawTime(rt), OrdersPrice: drawMoney(rt), ConfirmPrice: drawMoney(rt),
		Currency: drawText(rt), Status: drawStatus(rt), Extra: drawExtra(rt),
	}
	if rapid.Bool().Draw(rt, "details") {
		o.Details = make([]schema.OrderLine, rapid.IntRange(0, 3).Draw(rt, "lines"))
	}
	for i := range o.Details {
		o.Details[i] = schema.OrderLine{
			ItemName: drawText(rt), ItemPrice: drawText(rt), OrdersPrice: drawMoney(rt), OrderCommission: drawMoney(rt),
			LbOrderStatus: drawStatus(rt), Extra: drawExtra(rt),
		}
	}
	return o
}

func drawChanges(rt *rapid.T) []schema.Change {
	changes := make([]schema.Change, rapid.IntRange(0, 3).Draw(rt, "changes"))
	for i := range changes {
		changes[i] = schema.Change{Path: rapid.StringMatching(`(/[A-Za-z0-9]{1,8}){1,3}`).Draw(rt, "path")}
		if rapid.Bool().Draw(rt, "from") {
			changes[i].From = jsontext.Value(`"before"`)
		}
		if rapid.Bool().Draw(rt, "to") {
			changes[i].To = jsontext.Value(`[{"a":null}]`)
		}
	}
	return changes
}

func drawText(rt *rapid.T) schema.Text {
	switch rapid.IntRange(0, 3).Draw(rt, "text") {
	case 0:
		return schema.Text{}
	case 1:
		return schema.NewText("")
	case 2:
		return schema.NewText(rapid.SampledFrom([]string{"CNY", "1042", "spring"}).Draw(rt, "word"))
	default:
		return schema.NewText(rapid.StringN(0, 300, 1200).Draw(rt, "string"))
	}
}

func drawMoney(rt *rapid.T) schema.Money {
	s := rapid.OneOf(
		rapid.StringMatching(`-?[0-9]{1,8}\.[0-9]{2}`), rapid.StringMatching(`[+-]?[0-9]{1,12}(\.[0-9]{1,4})?(e-?[0-9])?`), rapid.Just(""),
	).Draw(rt, "amount")
	m, err := schema.ParseMoney(s)
	if err != nil || rapid.IntRange(0, 4).Draw(rt, "absent amount") == 0 {
		return schema.Money{}
	}
	return m
}

func drawTime(rt *rapid.T) schema.Text {
	return rapid.OneOf(
		rapid.Just(schema.Text{}), rapid.Map(rapid.StringMatching(`20[0-9]{2}-(0[1-9]|1[0-2])-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-5][0-9]`), schema.NewText),
		rapid.Map(rapid.Int64Range(-1e10, 1e11), func(n int64) schema.Text { return schema.NewText(time.Unix(n, 0).UTC().Format(schema.TimeLayout)) }),
		rapid.Just(schema.NewText("0000-00-00 00:00:00")), rapid.Just(schema.NewText("soon")),
	).Draw(rt, "time")
}

func drawStatus(rt *rapid.T) schema.Text {
	return rapid.SampledFrom([]schema.Text{
		{}, schema.NewText(""), schema.NewText("-1"), schema.NewText("0"), schema.NewText("2"), schema.NewText("+1"),
		schema.NewText("Paid"), schema.NewText("Pending"), schema.NewText("81"), schema.NewText("99"), schema.NewText("?"),
	}).Draw(rt, "status")
}

func drawExtra(rt *rapid.T) jsontext.Value {
	if rapid.Bool().Draw(rt, "extra") {
		return nil
	}
	return jsontext.Value(`{"Unknown":["ü",1.50,{"x":true}]}`)
}
