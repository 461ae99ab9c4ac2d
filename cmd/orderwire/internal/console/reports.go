package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
)

// earningsPage are sums by a grouping.
type earningsPage struct {
	By, Day                                                            string
	Account, Program, Website, SubID, Link, Currency, Status, From, To string

	Groupings, Days, Statuses []string
	Tiles                     []tile
	Table                     table
	Pager                     pager
}

// groupNames are the heads of what earnings are grouped by.
var groupNames = map[string]string{
	"account": "Account", "day": "Day", "link": "Link", "month": "Month", "program": "Program", "status": "Status", "sub_id": "Sub id", "website": "Website",
}

func (c *console) earnings(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	field := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	p := &earningsPage{
		By: field("group"), Day: field("by"), Account: field("account"), Program: field("program"), Website: field("website"), SubID: field("sub_id"),
		Link: field("link"), Currency: field("currency"), Status: field("status"), From: field("from"), To: field("to"),
		Groupings: commission.Groupings(), Days: []string{commission.ByOrder, commission.BySettlement}, Statuses: statuses(field("status")),
	}
	if p.By == "" {
		p.By = "month"
	}
	if !slices.Contains(p.Days, p.Day) {
		p.Day = commission.ByOrder
	}
	return c.booksPage(w, r, "earnings", page{Title: "Earnings", At: "Ledger", Parts: parts, Part: "Earnings", Body: p}, func(ctx context.Context, books Books) error {
		earned, err := books.Earnings(ctx, commission.Query{
			Filter: commission.Filter{
				Account: p.Account, ProgramID: p.Program, WebsiteID: p.Website, SubID: p.SubID, Currency: p.Currency, Status: p.Status, From: p.From, To: p.To,
			},
			LinkID: p.Link, By: p.Day, Group: []string{p.By},
		})
		if err != nil {
			return err
		}
		p.fill(earned)
		if len(p.filter()) == 0 && p.Currency == "" {
			p.Table.Empty = noOrders
		}
		if err := sentAs(w, r, "earnings", &p.Table); err != nil {
			return err
		}
		p.Pager = p.Table.paged(r, "row")
		return nil
	})
}

func (p *earningsPage) fill(earned []commission.Earned) {
	p.Table = table{
		Caption: "Earnings by " + strings.ToLower(groupNames[p.By]), Head: columns(groupNames[p.By], "Currency", "#Orders", "#Order amount", "#Commission"),
		Empty: "No orders match.",
	}
	if p.By == "day" || p.By == "month" {
		slices.SortStableFunc(earned, func(a, b commission.Earned) int { return strings.Compare(b.Group[0], a.Group[0]) })
	}
	sums := sumsByCurrency{}
	for i := range earned {
		e := &earned[i]
		sums.add(e.Currency, e.Orders, e.Commission)
		href := p.drill(e).href()
		name := text(e.Group[0])
		switch {
		case e.Group[0] == "":
			name = cell{Text: "none", Badge: "idle"}
		case p.By == "status":
			name = settlementCell(e.Group[0], false)
		}
		p.Table.Rows = append(p.Table.Rows, []cell{
			name, text(e.Currency), linked(count(uint64(e.Orders)), href), linked(amountCell(e.OrderAmount), href), linked(amountCell(e.Commission), href),
		})
	}
	p.Tiles = sums.tiles("Commission ", func(currency string) string {
		d := p.filter()
		d.is("currency", currency)
		if p.Day == commission.BySettlement {
			url.Values(d).Add("with", "charge_day")
		}
		return d.href()
	})
}

// filter chooses what the page's own filter does.
func (p *earningsPage) filter() drill {
	d := drill{}
	for name, value := range map[string]string{
		"account": p.Account, "program": p.Program, "website": p.Website, "sub_id": p.SubID, "link": p.Link, "status": p.Status, "from": p.From, "to": p.To,
	} {
		d.given(name, value)
	}
	if p.Day == commission.BySettlement {
		d.given("by", p.Day)
	}
	return d
}

// drill chooses the orders of a row.
func (p *earningsPage) drill(e *commission.Earned) drill {
	d, value, day := p.filter(), e.Group[0], "day"
	if p.Day == commission.BySettlement {
		day = "charge_day"
		url.Values(d).Add("with", day)
	}
	d.is("currency", e.Currency)
	switch {
	case p.By == "day" && value != "":
		d.within(value, value)
	case p.By == "month" && value != "":
		d.within(monthDays(value))
	case p.By == "day", p.By == "month":
		url.Values(d).Add("without", day)
	default:
		d.is(p.By, value)
	}
	return d
}

// sumsByCurrency are the sums of a table.
type sumsByCurrency map[string]*currencySum

type currencySum struct {
	orders     int64
	commission decimal.Decimal
}

func (s sumsByCurrency) add(currency string, orders int64, money schema.Money) {
	if s[currency] == nil {
		s[currency] = &currencySum{}
	}
	s[currency].orders += orders
	s[currency].commission = s[currency].commission.Add(money.Decimal())
}

// tiles returns one for each currency; href leads to its orders.
func (s sumsByCurrency) tiles(name string, href func(currency string) string) (all []tile) {
	for currency, sum := range s {
		t := tile{Name: name + named(currency), Figure: groupedMoney(schema.NewMoney(sum.commission)), Note: "of " + plural(uint64(sum.orders), "order")}
		if href != nil {
			t.Href = href(currency)
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b tile) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// waitingPage is what is pending.
type waitingPage struct {
	Account, Program string
	Today            string
	Tiles            []tile
	Ageing, Overdue  table
	AgePager, Pager  pager
}

func (c *console) waiting(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	p := &waitingPage{Account: strings.TrimSpace(q.Get("account")), Program: strings.TrimSpace(q.Get("program")), Today: c.now().In(c.Zone).Format(time.DateOnly)}
	f := commission.Filter{Account: p.Account, ProgramID: p.Program}
	return c.booksPage(w, r, "waiting", page{Title: "Ageing and overdue", At: "Ledger", Parts: parts, Part: "Ageing and overdue", Body: p}, func(ctx context.Context, books Books) error {
		aged, err := books.Ageing(ctx, f, p.Today)
		if err != nil {
			return err
		}
		overdue, err := books.Overdue(ctx, f, p.Today)
		if err != nil {
			return err
		}
		p.Ageing, p.Overdue = ageingTable(aged, p.Today), overdueTable(overdue)
		sums := sumsByCurrency{}
		for i := range aged {
			sums.add(aged[i].Currency, aged[i].Orders, aged[i].Commission)
		}
		p.Tiles = sums.tiles("Pending ", func(currency string) string {
			d := drill{"status": {schema.Pending.String()}}
			d.given("account", p.Account)
			d.given("program", p.Program)
			d.is("currency", currency)
			return d.href()
		})
		p.Tiles = append(p.Tiles, tile{Name: "Overdue", Figure: humanize.Comma(int64(len(overdue))), Note: "later than 9 of 10 of their program", Href: "#overdue"})
		if err := sentAs(w, r, "ageing", &p.Ageing); err != nil {
			return err
		}
		if err := sentAs(w, r, "overdue", &p.Overdue); err != nil {
			return err
		}
		p.AgePager, p.Pager = p.Ageing.paged(r, "row"), p.Overdue.paged(r, "order")
		return nil
	})
}

// ageDays are the bounds of [commission.Ages], in days; the last of them has no
// bound, and "unknown" no day.
var ageDays = map[string]struct{ least, most int }{"0-30": {-1, 30}, "31-60": {31, 60}, "61-90": {61, 90}, "over 90": {91, -1}}

func ageingTable(aged []commission.Aged, today string) table {
	t := table{
		ID: "ageing", Caption: "Pending commission by age", Head: columns("Account", "Program", "Currency", "Age in days", "#Orders", "#Order amount", "#Commission"),
		Empty: "Nothing is pending.",
	}
	for i := range aged {
		a := &aged[i]
		d := drill{"account": {a.Account}, "status": {schema.Pending.String()}}
		d.is("program", a.ProgramID)
		d.is("currency", a.Currency)
		if days, known := ageDays[a.Age]; !known {
			url.Values(d).Add("without", "day")
		} else {
			if days.most >= 0 {
				d.given("from", daysBefore(today, days.most))
			}
			if days.least >= 0 {
				d.given("to", daysBefore(today, days.least))
			}
		}
		t.Rows = append(t.Rows, []cell{
			text(a.Account), text(a.ProgramID), text(a.Currency), text(a.Age), linked(count(uint64(a.Orders)), d.href()),
			linked(amountCell(a.OrderAmount), d.href()), linked(amountCell(a.Commission), d.href()),
		})
	}
	return t
}

func overdueTable(overdue []commission.Overdue) table {
	t := table{
		ID: "overdue", Caption: "Overdue orders, the oldest first",
		Head:  columns("Order", "Account", "Program", "Sub id", "Day", "#Days", "#Usual days", "#Commission", "Currency"),
		Empty: "Nothing is overdue. A program's usual time is known from 20 approved orders on.",
	}
	for i := range overdue {
		o := &overdue[i]
		key := schema.OrderKey{Account: o.Account, Program: o.ProgramID, OrderSn: o.OrderSn}
		t.Rows = append(t.Rows, []cell{
			linked(text(o.OrderSn), orderPath(key)), text(o.Account), text(o.ProgramID), text(o.SubID), text(o.Day),
			count(uint64(o.Days)), count(uint64(o.UsualDays)), amountCell(o.Commission), text(o.Currency),
		})
	}
	return t
}
