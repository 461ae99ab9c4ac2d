package openapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
)

var errOrder = errors.New("want an object as Data")

// OrdersQuery asks for one page of orders (specification 4: orders.query). The
// specification shows Stime and Etime only; everything else is what live
// networks of this family take, and is not sent when it is zero.
type OrdersQuery struct {
	// From and To are sent as Stime and Etime, in whole seconds. To lies not
	// before From; networks refuse more than a day between them.
	From, To time.Time
	// Page counts from 1; 0 leaves it to the network, which takes the first.
	Page int
	// PageSize is in orders; 0 leaves it to the network, which takes 20. The
	// most that is known to work is 200.
	PageSize int
	// OrderField names the time that From and To filter: UpdateTime,
	// ChargeTime or OrderDatatime (the spelling is the network's). "" leaves it
	// to the network, which takes UpdateTime.
	OrderField string

	ProgramID string // only orders of this program
	WebsiteID string // only orders of this promotion site
	SubID     string // only orders with this feedback label
	Status    string // only orders with this settlement status, "-1" … "2"
}

func (q OrdersQuery) params() params {
	var p params
	if q.From.IsZero() || q.To.Before(q.From) {
		p.refuse(&schema.ParamError{Name: "Etime", Rule: "a time that is not before Stime, and both given"})
	}
	p.integer("Stime", q.From.Unix())
	p.integer("Etime", q.To.Unix())
	p.positive("Page", q.Page)
	p.positive("PageSize", q.PageSize)
	p.optional("OrderField", q.OrderField)
	p.optional("ProgramId", q.ProgramID)
	p.optional("WebsiteId", q.WebsiteID)
	p.optional("SubId", q.SubID)
	p.optional("Status", q.Status)
	return p
}

// Orders returns one page of orders as raw records; see [SplitOrders] for the
// shapes that are taken. An empty page is no error. For errors see [Client].
func (c *Client) Orders(ctx context.Context, q OrdersQuery) (OrdersPage, error) {
	a, err := c.do(ctx, call{service: c.service(ServiceOrders), params: q.params(), list: true})
	if err != nil {
		return OrdersPage{}, err
	}
	page := a.list.page()
	page.AnsweredAt = a.at
	return page, nil
}

// OrderAnswer is the network's answer about one order.
type OrderAnswer struct {
	Raw        jsontext.Value // the order resource (specification 2.3), a JSON object, as it was sent
	AnsweredAt time.Time      // when the network answered, UTC
}

// Order returns one order (specification 4: orders.detail). The error wraps
// [ErrNotFound] when the network answers with success and no order: Data is
// absent, null, {} or []. For other errors see [Client].
func (c *Client) Order(ctx context.Context, programID, orderSn string) (OrderAnswer, error) {
	op := call{service: c.service(ServiceOrder)}
	op.params.required("ProgramId", programID)
	op.params.required("OrderSn", orderSn)
	a, err := c.do(ctx, op)
	switch {
	case err != nil:
		return OrderAnswer{}, err
	case isEmpty(a.Data):
		return OrderAnswer{}, fmt.Errorf("%s: %w", op.service, ErrNotFound)
	case a.Data[0] != '{':
		return OrderAnswer{}, &BodyError{Service: op.service, Attempts: a.attempts, Kind: BodyShape, Err: errOrder}
	}
	return OrderAnswer{Raw: a.Data, AnsweredAt: a.at}, nil
}

// isEmpty reports whether a checked value says "nothing": absent, null, or an
// empty object or array, between which PHP does not tell.
func isEmpty(data jsontext.Value) bool {
	s := scanner{b: data}
	switch s.peek() {
	case 0, 'n':
		return true
	case '{', '[':
		s.i++
		c := s.peek()
		return c == '}' || c == ']'
	default:
		return false
	}
}
