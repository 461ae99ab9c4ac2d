package poller

import (
	"context"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/sources/openapi"
)

// smallest is the window that is not halved any more.
const smallest = time.Second

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

	seen keySet
}

// pass is one reading of a window, first page to last.
type pass struct {
	pages    int
	seen     keySet
	bad      int    // records that are no order
	total    int    // as the network said on the last page, -1 for unknown
	digest   uint64 // over the pages' digests
	moved    bool   // the total differed from page to page
	repeated bool   // a page came twice: the network does not page
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
	c := Coverage{
		From: w.From, To: w.To, Pages: first.pages, Orders: first.seen.size(),
		Digest: fmt.Sprintf("%016x", first.digest), seen: first.seen,
	}
	if settled {
		return c, nil
	}
	if w.span() <= smallest {
		c.Unstable = true
		r.cfg.Logger.Error("a window of one second keeps changing while it is read; orders in it may come later",
			"account", r.cfg.Account.Name, "from", w.From, "orders", first.seen.size(), "network_says", first.total)
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
	a.seen.addAll(b.seen)
	return Coverage{
		From: w.From, To: w.To, seen: a.seen, Pages: a.Pages + b.Pages, Orders: a.seen.size(),
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
	case p.total >= 0 && !p.moved && p.seen.size()+p.bad == p.total:
		return true, nil
	}
	again, err := r.readPass(ctx, w)
	if err != nil {
		return false, err
	}
	return again.digest == p.digest, nil
}

// readPass pages through a window once. A page is fetched while the one before
// is looked at, and what changed is recorded meanwhile. When it returns, all of
// that has ended.
func (r *recorder) readPass(ctx context.Context, w Window) (*pass, error) {
	group, ctx := errgroup.WithContext(ctx)
	pages := make(chan openapi.OrdersPage)
	group.Go(func() error {
		defer close(pages)
		return r.fetch(ctx, w, pages)
	})
	p := &pass{total: -1, seen: r.newKeySet()}
	group.Go(func() error { return r.takePages(ctx, p, pages) })
	return p, group.Wait()
}

// fetch requests the pages of a window one after another, until one that is
// the last or that repeats the one before.
func (r *recorder) fetch(ctx context.Context, w Window, pages chan<- openapi.OrdersPage) error {
	a := r.cfg.Account
	var before uint64
	for page, received := 1, 0; ; page++ {
		answer, err := r.page(ctx, openapi.OrdersQuery{
			From: w.From, To: w.To, Page: page, PageSize: a.PageSize, OrderField: a.OrderField,
		})
		if err != nil {
			return err
		}
		r.stats.pages.Add(1)
		r.stats.lastSign.Store(r.cfg.Now().UnixNano())
		select {
		case pages <- answer:
		case <-ctx.Done():
			return ctx.Err()
		}
		n := len(answer.Records)
		received += n
		if ended(n, a.PageSize, received, answer.Total) || page > 1 && answer.Digest == before {
			return nil
		}
		before = answer.Digest
	}
}

func (r *recorder) page(ctx context.Context, q openapi.OrdersQuery) (answer openapi.OrdersPage, err error) {
	ctx, end := r.span(ctx, "fetch page", trace.SpanKindClient, attribute.Int("orderwire.page", q.Page))
	defer func() { end(err, attribute.Int("orderwire.orders", len(answer.Records))) }()
	return r.cfg.Network.Orders(ctx, q)
}

// detail fetches one order.
func (p *Poller) detail(ctx context.Context, programID, orderSn string) (answer openapi.OrderAnswer, err error) {
	ctx, end := p.span(ctx, "fetch order", trace.SpanKindClient)
	defer func() { end(err) }()
	return p.cfg.Network.Order(ctx, programID, orderSn)
}

// ended reports whether a page of n records was the last: an empty one, or a
// short one, unless the network says that there is more (it may give smaller
// pages than asked for).
func ended(n, pageSize, received, total int) bool {
	return n == 0 || n < pageSize && received >= total
}
