package poller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
)

const (
	// chunk is the number of records that are compared and published together;
	// it is the size of the log's largest atomic batch.
	chunk = 1000
	// chunksAtOnce is the number of chunks that are recorded side by side.
	chunksAtOnce = 3
	// detailsAtOnce is the number of orders fetched side by side. The client's
	// rate limit holds for all of them together.
	detailsAtOnce = 4
)

// errNoOrder marks a record that is no JSON object with an order number. Its
// text quotes nothing of the record.
var errNoOrder = errors.New("record is no order")

// taking takes the pages of a pass apart. One goroutine owns it; chunks that it
// has sent are no longer its own.
type taking struct {
	*recorder
	pass   *pass
	prefix []byte // of the account's keys
	key    []byte // text of the key in hand
	bare   []*record
	buffer []record

	active sync.WaitGroup // chunks that are being recorded
	slots  chan struct{}  // a token for each of them
	fail   context.CancelCauseFunc
}

// takePages takes pages until there are no more, and returns when everything in
// them is recorded.
func (r *recorder) takePages(parent context.Context, p *pass, pages <-chan openapi.OrdersPage) error {
	ctx, fail := context.WithCancelCause(parent)
	t := &taking{recorder: r, pass: p, slots: make(chan struct{}, chunksAtOnce), fail: fail}
	t.prefix = append(schema.AppendToken(nil, r.cfg.Account.Name), '.')
	defer func() {
		fail(nil) // after an error, the chunks under way need not come to their end
		t.active.Wait()
	}()
	var before uint64
	for answer := range pages {
		if p.repeated = p.pages > 0 && len(answer.Records) > 0 && answer.Digest == before; p.repeated {
			break // the fetcher stops as well
		}
		before = answer.Digest
		if err := t.take(ctx, &answer); err != nil {
			return err
		}
	}
	return t.settle(ctx)
}

// settle sends what has gathered and waits until everything is recorded.
func (t *taking) settle(ctx context.Context) error {
	err := t.hydrateAll(ctx)
	t.send(ctx)
	t.active.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// send hands the buffer over to be recorded. A failure ends ctx.
func (t *taking) send(ctx context.Context) {
	if len(t.buffer) == 0 {
		return
	}
	records := t.buffer
	t.buffer = nil
	t.slots <- struct{}{}
	t.active.Go(func() {
		defer func() { <-t.slots }()
		if err := t.record(ctx, records); err != nil {
			t.fail(err)
		}
	})
}

// take looks at a page's records: what the log knows by its bytes is no change,
// what lacks its lines is hydrated, and everything else is recorded.
func (t *taking) take(ctx context.Context, answer *openapi.OrdersPage) error {
	p := t.pass
	p.pages++
	p.moved = p.moved || p.pages > 1 && answer.Total != p.total
	p.total = answer.Total
	p.digest = xxh3.HashString(fmt.Sprintf("%016x%016x", p.digest, answer.Digest))
	unchanged := 0
	for i, raw := range answer.Records {
		g, err := answer.Glance(i)
		if err == nil && len(g.OrderSn) == 0 {
			err = fmt.Errorf("%w: OrderSn is missing", errNoOrder)
		}
		if err != nil {
			p.bad++
			err = t.bury(ctx, raw, hash(raw), err)
		} else {
			var same bool
			if same, err = t.glance(ctx, raw, g, answer.AnsweredAt); same {
				unchanged++
			}
		}
		if err != nil {
			return err
		}
	}
	t.stats.unchanged.Add(int64(unchanged))
	return t.hydrateAll(ctx)
}

// glance compares a record's bytes with what the log knows of its order, and
// takes the record in when they are not the same. An order that was seen in this
// pass before may be on its way: everything is waited for, so that the log knows.
func (t *taking) glance(ctx context.Context, raw jsontext.Value, g openapi.Glance, at time.Time) (same bool, err error) {
	t.key = append(t.key[:0], t.prefix...)
	t.key = append(schema.AppendToken(t.key, g.ProgramID), '.')
	t.key = schema.AppendToken(t.key, g.OrderSn)
	if t.pass.seen.add(t.key) {
		if err := t.settle(ctx); err != nil {
			return false, err
		}
	}
	rec := record{raw: raw, content: hash(raw), at: at}
	if known, ok := t.cfg.Log.Lookup(t.key); ok && known.Content == rec.content && g.HasLines {
		return true, nil
	}
	rec.key = schema.OrderKey{Account: t.cfg.Account.Name, Program: string(g.ProgramID), OrderSn: string(g.OrderSn)}
	if g.HasLines {
		t.add(ctx, rec)
	} else {
		t.bare = append(t.bare, &rec)
	}
	return false, nil
}

func (t *taking) add(ctx context.Context, rec record) {
	if t.buffer == nil {
		t.buffer = make([]record, 0, chunk)
	}
	if t.buffer = append(t.buffer, rec); len(t.buffer) == chunk {
		t.send(ctx)
	}
}

// hydrateAll fetches the detail of records that came without lines. Where the
// network refuses the detail of an order that it lists, the list's record is
// taken as it is: it says nothing about the lines.
func (t *taking) hydrateAll(ctx context.Context) error {
	bare := t.bare
	t.bare = nil
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(detailsAtOnce)
	for _, rec := range bare {
		group.Go(func() error { return t.hydrate(within, rec) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, rec := range bare {
		t.add(ctx, *rec)
	}
	return nil
}

func (r *recorder) hydrate(ctx context.Context, rec *record) error {
	answer, err := r.detail(ctx, rec.key.Program, rec.key.OrderSn)
	var refused *openapi.RefusedError
	if errors.Is(err, openapi.ErrNotFound) || errors.As(err, &refused) && !refused.Temporary() {
		r.cfg.Logger.Warn("the network lists an order and refuses its detail", "account", rec.key.Account, "order", rec.key, "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("detail of order %s: %w", rec.key, err)
	}
	r.stats.details.Add(1)
	return rec.adopt(answer)
}

// adopt puts the detail in the place of the list's record, provided that it is
// the same order.
func (rec *record) adopt(answer openapi.OrderAnswer) error {
	g, err := openapi.GlanceOrder(answer.Raw)
	if err != nil {
		return fmt.Errorf("detail of order %s: %w: %w", rec.key, errNoOrder, err)
	}
	if string(g.OrderSn) != rec.key.OrderSn || string(g.ProgramID) != rec.key.Program {
		return fmt.Errorf("detail of order %s: the network answered with another order", rec.key)
	}
	rec.raw, rec.content, rec.at = answer.Raw, hash(answer.Raw), answer.AnsweredAt
	return nil
}
