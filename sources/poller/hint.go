package poller

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
)

// errOtherOrder says that the network answered with another order than the one
// that it was asked for.
var errOtherOrder = errors.New("the network answered with another order")

// Fetch brings the log up to date with one order, now, because somebody gave a
// hint that it has changed. When it returns nil, the log has every event that
// follows. It may be called at any time, beside a poll and several times at
// once: the record is compared and published like one of a page, and where both
// do it at once, the log refuses one, which compares again. An answer that is
// older than the log's state changes nothing.
//
// The account's rate holds for hints and polls together, first come, first
// served. So a hint waits for the requests that a poll has in line already, which
// are two pages and eight details at most, whatever there is to be read; and a
// caller that has few hints under way at once takes no more than its share from
// a poll.
//
// It is taken for granted that the network shows an order in its detail as it
// does in its list; where it does not, the next poll undoes the difference.
//
// A failure changes nothing: the next poll reads the order. The error wraps
// [openapi.ErrNotFound] when the network does not know the order, and does not
// name it.
func (p *Poller) Fetch(ctx context.Context, programID, orderSn string) error {
	ctx, end := p.span(ctx, "fetch", trace.SpanKindInternal)
	err := p.fetchNow(ctx, programID, orderSn)
	end(err)
	return err
}

func (p *Poller) fetchNow(ctx context.Context, programID, orderSn string) error {
	if err := p.cfg.Log.LoadIndex(ctx); err != nil { // as before a poll
		return err
	}
	answer, err := p.detail(ctx, programID, orderSn)
	if err != nil {
		return advise(err)
	}
	g, err := openapi.GlanceOrder(answer.Raw)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errNoOrder, err)
	case string(g.OrderSn) != orderSn || string(g.ProgramID) != programID:
		return errOtherOrder
	}
	key := schema.OrderKey{Account: p.cfg.Account.Name, Program: programID, OrderSn: orderSn}
	r := &recorder{Poller: p}
	rec := record{key: key, raw: answer.Raw, content: hash(answer.Raw), at: answer.AnsweredAt}
	if err := r.record(ctx, []record{rec}); err != nil {
		return err
	}
	p.stats.hints.Add(1)
	return nil
}
