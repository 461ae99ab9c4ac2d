package archive

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
)

// Event returns the event that the row was made of. Its times are cut to the
// microsecond; all else is as it was. The error says which field of the row no
// archiver has written.
func (r *Row) Event() (schema.Event, error) { return r.event(zones{}) }

// event is Event with zones that were loaded before.
func (r *Row) event(known zones) (schema.Event, error) {
	back := rebuild{row: r, zones: known, at: -1}
	if err := back.readUntyped(); err != nil {
		return schema.Event{}, err
	}
	order := back.order()
	if back.err != nil {
		return schema.Event{}, back.err
	}
	e := schema.NewEvent(schema.EventType(r.EventType), schema.Data{
		Account: r.Account, TimeZone: r.TimeZone, Version: uint64(r.Version),
		ObservedAt: r.ObservedAt, Regression: r.Regression, Order: order, Changes: back.changes(),
	})
	e.ID, e.Data.PreviousID, e.Extensions = r.EventID, "", jsonValue(r.Extensions)
	if r.PreviousID != nil {
		e.Data.PreviousID = *r.PreviousID
	}
	return e, nil
}

// rebuild turns a row back into what the network sent.
type rebuild struct {
	row     *Row
	zones   zones
	untyped map[string]string
	at      int // line, -1 for the order itself
	err     error
}

func (b *rebuild) readUntyped() error {
	if b.row.Untyped == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(*b.row.Untyped), &b.untyped); err != nil {
		return fmt.Errorf("archive: row of sequence %d: untyped is no object of texts", b.row.Sequence)
	}
	return nil
}

func (b *rebuild) order() schema.Order {
	r := b.row
	o := schema.Order{
		ID: optional(r.OrderID), ProgramID: optional(r.ProgramID), ProgramName: optional(r.ProgramName),
		WebsiteID: optional(r.WebsiteID), LinkID: optional(r.LinkID), SubID: optional(r.SubID),
		OrderSn: schema.NewText(r.OrderSn), ParentOrderSn: optional(r.ParentOrderSn),
		OrderTime:       b.time("OrderTime", r.OrderTime),
		OrdersPrice:     b.amount("OrdersPrice", r.OrdersPrice),
		SiterCommission: b.amount("SiterCommission", r.SiterCommission),
		Currency:        optional(r.Currency),
		Status:          b.status("Status", r.Status),
		ConfirmPrice:    b.amount("ConfirmPrice", r.ConfirmPrice), ChargeCurrency: optional(r.ChargeCurrency),
		ConfirmSiterCommission: b.amount("ConfirmSiterCommission", r.ConfirmSiterCommission),
		ChargeTime:             b.time("ChargeTime", r.ChargeTime),
		Extra:                  jsonValue(r.Extra),
	}
	if r.Lines != nil {
		o.Details = make([]schema.OrderLine, len(r.Lines))
	}
	for i := range r.Lines {
		b.at = i
		o.Details[i] = b.line(&r.Lines[i])
	}
	return o
}

func (b *rebuild) line(l *Line) schema.OrderLine {
	return schema.OrderLine{
		GoodsCate: optional(l.GoodsCate), ItemCate: optional(l.ItemCate), ItemCateName: optional(l.ItemCateName),
		ItemID: optional(l.ItemID), ItemName: optional(l.ItemName), ItemPrice: optional(l.ItemPrice), ItemCount: optional(l.ItemCount),
		OrdersPrice: b.amount("OrdersPrice", l.OrdersPrice), OrderStatus: optional(l.OrderStatus),
		OrderCommission: b.amount("OrderCommission", l.OrderCommission),
		OrderSn:         optional(l.OrderSn), ParentOrderSn: optional(l.ParentOrderSn),
		ItemImg: optional(l.ItemImg), ShopTitle: optional(l.ShopTitle),
		LbOrderStatus: b.status("LbOrderStatus", l.LbOrderStatus), Extra: jsonValue(l.Extra),
	}
}

func (b *rebuild) changes() []schema.Change {
	changes := make([]schema.Change, len(b.row.Changes))
	for i, c := range b.row.Changes {
		changes[i] = schema.Change{Path: c.Path, From: jsonValue(c.From), To: jsonValue(c.To)}
	}
	return changes
}

// kept returns the text of a field that its column does not give back.
func (b *rebuild) kept(field string) (string, bool) {
	if b.untyped == nil {
		return "", false
	}
	s, ok := b.untyped[fieldName(b.at, field)]
	return s, ok
}

func (b *rebuild) amount(field string, cents *int64) schema.Money {
	if s, ok := b.kept(field); ok {
		m, err := schema.ParseMoney(s)
		if err != nil && b.err == nil {
			b.err = fmt.Errorf("archive: row of sequence %d: untyped %s: %w", b.row.Sequence, field, schema.ErrAmount)
		}
		return m
	}
	if cents == nil {
		return schema.Money{}
	}
	return schema.MoneyFromCents(*cents)
}

func (b *rebuild) time(field string, at *time.Time) schema.Text {
	if s, ok := b.kept(field); ok {
		return schema.NewText(s)
	}
	if at == nil {
		return schema.Text{}
	}
	zone := b.zones.find(b.row.TimeZone)
	if zone == nil {
		if b.err == nil {
			b.err = fmt.Errorf("archive: row of sequence %d: the time zone of its times is unknown here", b.row.Sequence)
		}
		return schema.Text{}
	}
	return schema.NewText(at.In(zone).Format(schema.TimeLayout))
}

func (b *rebuild) status(field string, value *int32) schema.Text {
	if s, ok := b.kept(field); ok {
		return schema.NewText(s)
	}
	if value == nil {
		return schema.Text{}
	}
	return schema.NewText(strconv.Itoa(int(*value)))
}

func optional(s *string) schema.Text {
	if s == nil {
		return schema.Text{}
	}
	return schema.NewText(*s)
}

func jsonValue(s *string) jsontext.Value {
	if s == nil {
		return nil
	}
	return jsontext.Value(*s)
}
