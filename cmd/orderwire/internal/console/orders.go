package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
)

const (
	// ordersAPage is how many orders a page shows, and ordersAFile the most that an
	// export has.
	ordersAPage = 50
	ordersAFile = 100_000
)

// noOrders is said where nothing was searched for.
const noOrders = "No orders are in the books yet. They come with the first poll of an account."

// ordersPage is the search for orders.
type ordersPage struct {
	Order, Account, Program, Website, SubID, Link, Currency, Status, By, From, To string

	Statuses []string
	Chosen   []chosen
	More     bool // a rarer filter is set
	Tiles    []tile
	Table    table
	Pager    pager
}

// chosen is a filter that a link sets, and no field of the form.
type chosen struct{ Name, Value, Text string }

func (c *console) orders(w http.ResponseWriter, r *http.Request) error {
	p := &ordersPage{}
	d := p.read(r)
	by := p.Table.sortable(r, commission.DrillSorts()...)
	d.Sort, d.Descending = by.key, by.down
	if asFile(r) {
		d.Limit, d.Offset, d.Sums = ordersAFile, 0, false
	}
	return c.booksPage(w, r, "orders", page{Title: "Orders", At: "Orders", Body: p}, func(ctx context.Context, books Books) error {
		found, err := books.Drill(ctx, d)
		if err != nil {
			return err
		}
		p.rows(found.Orders)
		if !d.Sums && d.Offset == 0 {
			p.Table.Empty = noOrders
		}
		if asFile(r) {
			return errors.Join(writeFile(w, r, "orders", &p.Table), errSent)
		}
		for i := range found.Sums {
			s := &found.Sums[i]
			p.Tiles = append(p.Tiles, tile{Name: "Commission " + named(s.Currency), Figure: groupedMoney(s.Commission), Note: "of " + plural(uint64(s.Orders), "order") + " over " + groupedMoney(s.OrderAmount)})
		}
		p.Table.Export = exportOf(r, "")
		p.Pager = pagerOf(r, "page", int(found.Total), ordersAPage, "order")
		return nil
	})
}

// read takes the filters of a request.
func (p *ordersPage) read(r *http.Request) commission.Drill {
	q := r.URL.Query()
	field := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	p.Order, p.Account, p.Program, p.Website, p.SubID = field("order"), field("account"), field("program"), field("website"), field("sub_id")
	p.Link, p.Currency, p.Status, p.By, p.From, p.To = field("link"), field("currency"), settlementName(field("status")), field("by"), field("from"), field("to")
	p.Statuses = statuses(p.Status)
	d := commission.Drill{
		OrderFilter: commission.OrderFilter{
			Filter: commission.Filter{
				Account: p.Account, ProgramID: p.Program, WebsiteID: p.Website, SubID: p.SubID, Currency: p.Currency, Status: p.Status, From: p.From, To: p.To,
			},
			OrderSn: p.Order, Limit: ordersAPage, Offset: (pageNumber(r) - 1) * ordersAPage,
		},
		LinkID: p.Link, By: p.By, EstimatedCurrency: field("estimated"), Outcome: field("outcome"), Without: q["without"], With: q["with"],
	}
	p.choose(&d)
	p.More = p.Website+p.Link+p.Currency+p.By != ""
	d.Sums = p.More || len(p.Chosen) > 0 || p.Order+p.Account+p.Program+p.SubID+p.Status+p.From+p.To != ""
	p.Table = table{
		Caption: "Orders, those that changed last first",
		Head:    columns("Order", "Account", "Program", "Sub id", "Day", "Status", "#Order amount", "#Commission", "Currency", "#Events"),
		Empty:   "No orders match.",
	}
	return d
}

// choose names the filters that no field of the form shows.
func (p *ordersPage) choose(d *commission.Drill) {
	if d.EstimatedCurrency != "" {
		p.Chosen = append(p.Chosen, chosen{"estimated", d.EstimatedCurrency, "estimated in " + d.EstimatedCurrency})
	}
	switch d.Outcome {
	case commission.OutcomeSettled:
		p.Chosen = append(p.Chosen, chosen{"outcome", d.Outcome, "confirmed or approved"})
	case commission.OutcomeLost:
		p.Chosen = append(p.Chosen, chosen{"outcome", d.Outcome, "invalid, or of a status that is not known"})
	}
	for _, name := range d.Without {
		p.Chosen = append(p.Chosen, chosen{"without", name, "without " + fieldName(name)})
	}
	for _, name := range d.With {
		p.Chosen = append(p.Chosen, chosen{"with", name, "with " + fieldName(name)})
	}
}

// fieldName names a field of the books for people.
func fieldName(field string) string {
	switch field {
	case "day":
		return "a day"
	case "charge_day":
		return "a day of settlement"
	case "status", "currency":
		return "a " + field
	case "estimated_currency":
		return "a currency of the estimate"
	default:
		return "a " + strings.TrimSuffix(strings.TrimSuffix(field, "_id"), "_") + map[bool]string{true: " id"}[field == "sub_id"]
	}
}

// statuses are those of the form, with another one that is asked for.
func statuses(other string) (all []string) {
	for _, s := range schema.SettlementStatuses() {
		all = append(all, s.String())
	}
	if other = settlementName(other); other != "" && !slices.Contains(all, other) {
		all = append(all, other)
	}
	return all
}

func (p *ordersPage) rows(orders []commission.Order) {
	for i := range orders {
		o := &orders[i]
		p.Table.Rows = append(p.Table.Rows, []cell{
			linked(text(o.Key.OrderSn), orderPath(o.Key)), text(o.Key.Account), {Text: o.Key.Program, Title: o.ProgramName}, text(o.SubID),
			text(o.Day), settlementCell(o.Status, o.Vanished), amountCell(o.OrderAmount), amountCell(o.Commission),
			text(o.Currency), count(o.Version),
		})
	}
}

// orderPath is the address of an order's page. The key has no byte that a path
// would take for something else.
func orderPath(key schema.OrderKey) string { return "/orders/" + url.PathEscape(key.String()) }

// settlementCell shows the status of an order.
func settlementCell(status string, vanished bool) cell {
	if vanished {
		return cell{Text: "Vanished", Badge: "bad", Title: "the network no longer knows the order; it was " + settlementName(status)}
	}
	badge := "idle"
	if s, err := schema.ParseSettlementStatus(status); err == nil {
		badge = map[schema.SettlementStatus]string{schema.Approved: "good", schema.Confirmed: "calm", schema.Pending: "warn", schema.Invalid: "bad"}[s]
	}
	return cell{Text: settlementName(status), Badge: badge}
}

func settlementName(status string) string {
	if s, err := schema.ParseSettlementStatus(status); err == nil {
		return s.String()
	}
	return status
}

// timeOf reads a time that a person has typed: a day, or what a form gives, in UTC.
func timeOf(r *http.Request, name string) (time.Time, error) {
	s := strings.TrimSpace(r.FormValue(name))
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, wrong(name + " is no time: write it as 2026-11-01T08:00 (in UTC)")
}
