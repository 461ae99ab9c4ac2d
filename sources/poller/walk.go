package poller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
)

const (
	// chunk is the number of records that are compared and published together;
	// it is the size of the log's largest atomic batch.
	chunk = 1000
	// detailsAtOnce is the number of orders fetched side by side. The client's
	// rate limit holds for all of them together.
	detailsAtOnce = 4
	// smallest is the window that is not halved any more.
	smallest = time.Second
)

// Coverage is what is stored of a window that was read.
type Coverage struct {
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Pages    int       `json:"pages"`
	Orders   int       `json:"orders"`            // distinct orders
	Digest   string    `json:"digest"`            // hash of the records' bytes, in the order read
	ClosedAt time.Time `json:"closed_at"`         // when the log had everything
	Unstable bool      `json:"unstable,omitzero"` // it changed while it was read, to the smallest window
	// Keys holds the window's orders, so that one that vanishes is noticed: only
	// for windows of creation time, in which an order stays for ever.
	Keys []string `json:"keys,omitempty"`

	seen map[schema.OrderKey]bool
}

// pass is one reading of a window, first page to last.
type pass struct {
	pages    int
	seen     map[schema.OrderKey]bool
	bad      int    // records that are no order
	total    int    // as the network said on the last page, -1 for unknown
	digest   uint64 // over the pages' digests
	moved    bool   // the total differed from page to page
	repeated bool   // a page came twice: the network does not page
	buffer   []record
}

// readWindow reads a window completely, in halves when it moved meanwhile, and
// has everything recorded when it returns.
func (r *recorder) readWindow(ctx context.Context, w Window) (Coverage, error) {
	first, err := r.readPass(ctx, w)
	if err != nil {
		return Coverage{}, err
	}
	settled, err := r.settled(ctx, w, first)
	if err != nil {
		return Coverage{}, err
	}
	c := Coverage{From: w.From, To: w.To, Pages: first.pages, Orders: len(first.seen), Digest: fmt.Sprintf("%016x", first.digest), seen: first.seen}
	if settled {
		return c, nil
	}
	if w.span() <= smallest {
		c.Unstable = true
		r.cfg.Logger.Error("a window of one second keeps changing while it is read; orders in it may come later",
			"account", r.cfg.Account.Name, "from", w.From, "orders", len(first.seen), "network_says", first.total)
		return c, nil
	}
	r.cfg.Logger.Debug("a window changed while it was read; reading it in halves", "account", r.cfg.Account.Name, "from", w.From, "to", w.To)
	return r.readHalves(ctx, w)
}

func (r *recorder) readHalves(ctx context.Context, w Window) (Coverage, error) {
	older, newer := w.halves()
	a, err := r.readWindow(ctx, older)
	if err != nil {
		return Coverage{}, err
	}
	b, err := r.readWindow(ctx, newer)
	if err != nil {
		return Coverage{}, err
	}
	maps.Copy(a.seen, b.seen)
	return Coverage{
		From: w.From, To: w.To, seen: a.seen, Pages: a.Pages + b.Pages, Orders: len(a.seen),
		Digest: fmt.Sprintf("%016x", xxh3.HashString(a.Digest+b.Digest)), Unstable: a.Unstable || b.Unstable,
	}, nil
}

// settled reports whether a pass has seen everything that the window holds: it
// fitted one page, or holds as many orders as the network said on each page
// alike, or a second pass gives the same bytes. A total that the network gives is a hint only,
// because what it counts is documented nowhere.
func (r *recorder) settled(ctx context.Context, w Window, p *pass) (bool, error) {
	switch {
	case p.repeated:
		r.cfg.Logger.Warn("the network repeats a page word for word instead of paging", "account", r.cfg.Account.Name, "from", w.From, "to", w.To)
		return false, nil
	case p.pages == 1:
		return true, nil
	case p.total >= 0 && !p.moved && len(p.seen)+p.bad == p.total:
		return true, nil
	}
	again, err := r.readPass(ctx, w)
	if err != nil {
		return false, err
	}
	return again.digest == p.digest, nil
}

// readPass pages through a window once and records what it finds.
func (r *recorder) readPass(ctx context.Context, w Window) (*pass, error) {
	p := &pass{seen: make(map[schema.OrderKey]bool), total: -1}
	a := r.cfg.Account
	var before uint64
	for page := 1; ; page++ {
		answer, err := r.cfg.Network.Orders(ctx, openapi.OrdersQuery{
			From: w.From, To: w.To, Page: page, PageSize: a.PageSize, OrderField: a.OrderField,
		})
		if err != nil {
			return nil, err
		}
		r.stats.pages.Add(1)
		if page > 1 && len(answer.Records) > 0 && answer.Digest == before {
			p.repeated = true
			break
		}
		before = answer.Digest
		if err := r.takePage(ctx, p, answer); err != nil {
			return nil, err
		}
		if p.ended(len(answer.Records), a.PageSize) {
			break
		}
	}
	return p, r.drainBuffer(ctx, p)
}

// ended reports whether a page of n records was the last: an empty one, or a
// short one, unless the network says that there is more (it may give smaller
// pages than asked for).
func (p *pass) ended(n, pageSize int) bool {
	if n == 0 {
		return true
	}
	return n < pageSize && len(p.seen)+p.bad >= p.total
}

func (r *recorder) takePage(ctx context.Context, p *pass, answer openapi.OrdersPage) error {
	p.pages++
	p.moved = p.moved || p.pages > 1 && answer.Total != p.total
	p.total = answer.Total
	p.digest = xxh3.HashString(fmt.Sprintf("%016x%016x", p.digest, answer.Digest))
	records, bare, err := r.glance(ctx, answer)
	if err != nil {
		return err
	}
	if err := r.hydrate(ctx, bare); err != nil {
		return err
	}
	p.bad += len(answer.Records) - len(records)
	for _, rec := range records {
		p.seen[rec.key] = true
		p.buffer = append(p.buffer, *rec)
	}
	if len(p.buffer) < chunk {
		return nil
	}
	return r.drainBuffer(ctx, p)
}

// drainBuffer records what has gathered, chunk by chunk.
func (r *recorder) drainBuffer(ctx context.Context, p *pass) error {
	for len(p.buffer) > 0 {
		n := min(len(p.buffer), chunk)
		if err := r.record(ctx, p.buffer[:n]); err != nil {
			return err
		}
		p.buffer = p.buffer[n:]
	}
	p.buffer = nil
	return nil
}

// glance takes a page apart. Records without lines are returned twice, in bare
// as well, to be hydrated in place; bad ones are buried.
func (r *recorder) glance(ctx context.Context, answer openapi.OrdersPage) (records, bare []*record, err error) {
	for _, raw := range answer.Records {
		content := hash(raw)
		g, err := peek(raw)
		if err != nil {
			if err := r.bury(ctx, raw, content, err); err != nil {
				return nil, nil, err
			}
			continue
		}
		rec := &record{
			key: schema.OrderKey{Account: r.cfg.Account.Name, Program: g.programID, OrderSn: g.orderSn},
			raw: raw, content: content, at: answer.AnsweredAt,
		}
		records = append(records, rec)
		if !g.details {
			bare = append(bare, rec)
		}
	}
	return records, bare, nil
}

// hydrate fetches the detail of records that came without lines. Where the
// network refuses the detail of an order that it lists, the list's record is
// taken as it is: it says nothing about the lines.
func (r *recorder) hydrate(ctx context.Context, bare []*record) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(detailsAtOnce)
	for _, rec := range bare {
		group.Go(func() error {
			answer, err := r.cfg.Network.Order(ctx, rec.key.Program, rec.key.OrderSn)
			var refused *openapi.RefusedError
			if errors.Is(err, openapi.ErrNotFound) || errors.As(err, &refused) && !refused.Temporary() {
				r.cfg.Logger.Warn("the network lists an order and refuses its detail", "account", rec.key.Account, "order", rec.key, "error", err)
				return nil
			}
			if err != nil {
				return fmt.Errorf("detail of order %s: %w", rec.key, err)
			}
			r.stats.details.Add(1)
			return r.adopt(rec, answer)
		})
	}
	return group.Wait()
}

// adopt puts the detail in the place of the list's record, provided that it is
// the same order.
func (r *recorder) adopt(rec *record, answer openapi.OrderAnswer) error {
	g, err := peek(answer.Raw)
	if err != nil {
		return fmt.Errorf("detail of order %s: %w", rec.key, err)
	}
	if g.orderSn != rec.key.OrderSn || g.programID != rec.key.Program {
		return fmt.Errorf("detail of order %s: the network answered with another order", rec.key)
	}
	rec.raw, rec.content, rec.at = answer.Raw, hash(answer.Raw), answer.AnsweredAt
	return nil
}
