package webhook

import (
	"strings"

	"github.com/orderwire/orderwire/schema"
)

// view is what an expression sees of an event.
type view struct {
	Event      string   `expr:"event"`
	Account    string   `expr:"account"`
	Version    int      `expr:"version"`
	Regression bool     `expr:"regression"`
	Changes    []string `expr:"changes"`

	Program     string `expr:"program"`
	Order       string `expr:"order"`
	ParentOrder string `expr:"parent_order"`
	Website     string `expr:"website"`
	Link        string `expr:"link"`
	SubID       string `expr:"sub_id"`
	Status      string `expr:"status"`
	Lines       []line `expr:"lines"`

	Amount              amount `expr:"amount"`
	Commission          amount `expr:"commission"`
	Currency            string `expr:"currency"`
	ConfirmedAmount     amount `expr:"confirmed_amount"`
	ConfirmedCommission amount `expr:"confirmed_commission"`
	ChargeCurrency      string `expr:"charge_currency"`
}

// line is what an expression sees of an order line.
type line struct {
	Status     string `expr:"status"`
	Item       string `expr:"item"`
	Shop       string `expr:"shop"`
	Amount     amount `expr:"amount"`
	Commission amount `expr:"commission"`
}

// field fills one name of an expression.
type field struct {
	name string
	load func(*view, *schema.Event)
}

// fields are all names, in the order in which hints list them.
var fields = []field{
	{"event", func(v *view, e *schema.Event) { v.Event = string(e.Type) }},
	{"account", func(v *view, e *schema.Event) { v.Account = e.Data.Account }},
	{"program", func(v *view, e *schema.Event) { v.Program = e.Data.Order.ProgramID.String() }},
	{"order", func(v *view, e *schema.Event) { v.Order = e.Data.Order.OrderSn.String() }},
	{"parent_order", func(v *view, e *schema.Event) { v.ParentOrder = e.Data.Order.ParentOrderSn.String() }},
	{"status", func(v *view, e *schema.Event) { v.Status = settlementName(e.Data.Order.Status.String()) }},
	{"amount", func(v *view, e *schema.Event) { v.Amount = amountOf(e.Data.Order.OrdersPrice) }},
	{"commission", func(v *view, e *schema.Event) { v.Commission = amountOf(e.Data.Order.SiterCommission) }},
	{"currency", func(v *view, e *schema.Event) { v.Currency = e.Data.Order.Currency.String() }},
	{"confirmed_amount", func(v *view, e *schema.Event) { v.ConfirmedAmount = amountOf(e.Data.Order.ConfirmPrice) }},
	{"confirmed_commission", func(v *view, e *schema.Event) { v.ConfirmedCommission = amountOf(e.Data.Order.ConfirmSiterCommission) }},
	{"charge_currency", func(v *view, e *schema.Event) { v.ChargeCurrency = e.Data.Order.ChargeCurrency.String() }},
	{"sub_id", func(v *view, e *schema.Event) { v.SubID = e.Data.Order.SubID.String() }},
	{"website", func(v *view, e *schema.Event) { v.Website = e.Data.Order.WebsiteID.String() }},
	{"link", func(v *view, e *schema.Event) { v.Link = e.Data.Order.LinkID.String() }},
	{"version", func(v *view, e *schema.Event) { v.Version = int(e.Data.Version) }},
	{"regression", func(v *view, e *schema.Event) { v.Regression = e.Data.Regression }},
	{"changes", loadChanges},
	{"lines", loadLines},
}

var fieldsHint = func() string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return `write it like: status == "Approved" && amount >= 100; there are ` + strings.Join(names, ", ")
}()

// loadChanges gives the path of each change.
func loadChanges(v *view, e *schema.Event) {
	v.Changes = make([]string, len(e.Data.Changes))
	for i := range e.Data.Changes {
		v.Changes[i] = e.Data.Changes[i].Path
	}
}

func loadLines(v *view, e *schema.Event) {
	v.Lines = make([]line, len(e.Data.Order.Details))
	for i := range e.Data.Order.Details {
		l := &e.Data.Order.Details[i]
		v.Lines[i] = line{
			Status: lineName(l.LbOrderStatus.String()), Item: l.ItemID.String(), Shop: l.ShopTitle.String(),
			Amount: amountOf(l.OrdersPrice), Commission: amountOf(l.OrderCommission),
		}
	}
}

// settlementName returns the name of a status, and a status that the
// specification does not know as it stands.
func settlementName(s string) string {
	if s == "" {
		return ""
	}
	if status, err := schema.ParseSettlementStatus(s); err == nil {
		return status.String()
	}
	return s
}

// lineName is settlementName for lines.
func lineName(s string) string {
	if s == "" {
		return ""
	}
	if status, err := schema.ParseLineStatus(s); err == nil {
		return status.String()
	}
	return s
}
