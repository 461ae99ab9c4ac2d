package network

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/orderwire/orderwire/schema"
)

// reportData is the Data of orders.post.
type reportData struct {
	ID              string       `json:"Id"`
	OrderSn         string       `json:"OrderSn"`
	Status          string       `json:"Status"`
	SiterCommission schema.Money `json:"SiterCommission"`
	Created         string       `json:"Created"` // "1" for the first report of an order
}

// reportOrder answers orders.post, an operation of our own: a brand reports an
// order or what has become of it. Reports of an order, which its program and
// number identify, may come in any number and at once. The first one makes the
// order, and a later one changes what it gives; one that says nothing new
// changes nothing, not even the update time.
func (s *Service) reportOrder(ctx context.Context, by caller, f *form, b []byte) ([]byte, error) {
	r, err := s.parseReport(f)
	if err != nil {
		return nil, err
	}
	// The click may be as young as the redirect that has just been answered.
	if err := s.clicks.settle(ctx); err != nil {
		return nil, &refusal{status: StatusBusy, message: "system busy, try again later", err: err}
	}
	var o *order
	var created bool
	err = s.store.change(ctx, func(c *change) error {
		p, err := c.offerOf(ctx, by.advertiser, r.program)
		if err != nil {
			return err
		}
		o, created, err = c.report(ctx, p, &r)
		return err
	})
	if err != nil {
		return nil, err
	}
	data := reportData{strconv.FormatInt(o.id, 10), o.sn, o.status.Value(), o.commission.money(), "0"}
	if created {
		data.Created = "1"
	}
	raw, err := json.Marshal(data)
	return append(b, raw...), err
}

// report takes a report of an order of a program in, and reports whether it is
// the first one.
func (c *change) report(ctx context.Context, p *offer, r *report) (o *order, created bool, err error) {
	o, err = c.reported(ctx, p.id, r.sn)
	if err != nil {
		return nil, false, fmt.Errorf("read an order: %w", err)
	}
	if created = o == nil; created {
		o, err = c.newOrder(ctx, p, r)
	} else {
		err = r.agrees(o)
	}
	if err != nil {
		return nil, false, err
	}
	before := *o
	lines, err := o.take(p, r, c.now)
	if err != nil {
		return nil, false, err
	}
	if !created && *o == before {
		return o, false, nil
	}
	reason := "reported"
	if !created {
		reason = changeReason(&before, o)
	}
	return o, created, c.put(ctx, o, lines, c.now, reason)
}

// changeReason is the reason of a report's change for the history.
func changeReason(before, after *order) string {
	switch {
	case before.status != after.status:
		return "report: " + before.status.String() + " to " + after.status.String()
	case before.charge != after.charge:
		return "report: amounts of " + after.status.String()
	default:
		return "report"
	}
}

// newOrder makes the order of a first report, which has to say more than later
// ones: by which click, when and how much.
func (c *change) newOrder(ctx context.Context, p *offer, r *report) (*order, error) {
	for _, p := range []struct {
		name    string
		missing bool
	}{{"ClickId", r.click == ""}, {"TransactionTime", r.placed == 0}, {"Amount", r.amount == nil && len(r.items) == 0}} {
		if p.missing {
			return nil, &schema.ParamError{Name: p.name, Rule: "a value, it is required in the first report of an order"}
		}
	}
	if !p.open {
		return nil, refuse(StatusNotAllowed, "ProgramId: the program is closed and takes no new orders")
	}
	o := &order{program: p.id, programName: p.name, sn: r.sn, parentSn: r.parentSn, currency: r.currency, click: r.click}
	if o.currency == "" {
		o.currency = defaultCurrency
	}
	if o.currency != p.currency && o.currency != p.chargeCurrency {
		return nil, refuse(StatusNotAllowed, "Currency: %s is not of this program; want %s", o.currency, p.currencies())
	}
	return o, c.attribute(ctx, p, o, r.placed)
}

// currencies names the currencies of the program's orders.
func (p *offer) currencies() string {
	if p.currency == p.chargeCurrency {
		return p.currency
	}
	return p.currency + " or " + p.chargeCurrency
}

// attribute gives a new order the publisher, website, link and sub id of its
// click, which must not be older than the program allows when the order was
// placed.
func (c *change) attribute(ctx context.Context, p *offer, o *order, placed int64) error {
	var program string
	var at int64
	known, err := c.found(ctx, `SELECT publisher_id, website_id, CAST(link_id AS TEXT), sub_id, program_id, at FROM clicks WHERE id = ?`,
		[]any{o.click}, &o.publisher, &o.website, &o.link, &o.subID, &program, &at)
	switch {
	case err != nil:
		return fmt.Errorf("look a click up: %w", err)
	case !known:
		return refuse(StatusClick, "ClickId: there is no such click")
	case program != p.id:
		return refuse(StatusClick, "ClickId: the click is of another program")
	case placed-at > p.clickDays*secondsOfDay:
		return refuse(StatusClick, "ClickId: the click was more than %d days before TransactionTime", p.clickDays)
	}
	return nil
}

// agrees refuses a later report that contradicts what an order cannot change.
func (r *report) agrees(o *order) error {
	switch {
	case r.parentSn != o.parentSn && o.parentSn == "":
		return refuse(StatusConflict, "SubOrderID: the number is that of an order of its own")
	case r.parentSn != o.parentSn:
		return refuse(StatusConflict, "OrderId: the number is that of a sub-order of another order")
	case r.click != "" && r.click != o.click:
		return refuse(StatusClick, "ClickId: the order belongs to another click; repeat that one or leave ClickId out")
	case r.currency != "" && r.currency != o.currency:
		return refuse(StatusConflict, "Currency: the order's is %s", o.currency)
	}
	return nil
}
