package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
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

// ordersPage is the search for orders.
type ordersPage struct {
	Order, Account, Program, SubID, Status, From, To string

	Statuses []string
	NoBooks  string
	Table    table
	Pager    pager
}

// pager leads to the neighbouring pages.
type pager struct {
	Text       string
	Prev, Next string // addresses, "" for none
}

func (c *console) orders(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	field := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	p := ordersPage{
		Order: field("order"), Account: field("account"), Program: field("program"), SubID: field("sub_id"), Status: field("status"),
		From: field("from"), To: field("to"),
	}
	for _, s := range schema.SettlementStatuses() {
		p.Statuses = append(p.Statuses, s.String())
	}
	f := commission.OrderFilter{
		Filter:  commission.Filter{Account: p.Account, ProgramID: p.Program, SubID: p.SubID, Status: p.Status, From: p.From, To: p.To},
		OrderSn: p.Order, Limit: ordersAPage,
	}
	number := pageNumber(r)
	f.Offset = (number - 1) * ordersAPage
	if asCSV(r) {
		f.Limit, f.Offset = ordersAFile, 0
	}
	found, total, err := c.search(r.Context(), f)
	var absent *absentError
	if errors.As(err, &absent) {
		p.NoBooks = absent.Error()
		c.show(w, r, http.StatusOK, "orders", page{Title: "Orders", At: "Orders", Body: p})
		return nil
	}
	var mistake *commission.FilterError
	if errors.As(err, &mistake) {
		return wrong(err.Error())
	}
	if err != nil {
		return err
	}
	p.Table = orderTable(found)
	if asCSV(r) {
		return writeCSV(w, "orders", &p.Table)
	}
	p.Table.Export = exportOf(r)
	p.Pager = pagerOf(r, number, int(total))
	c.show(w, r, http.StatusOK, "orders", page{Title: "Orders", At: "Orders", Body: p})
	return nil
}

// absentError says why there are no books.
type absentError struct{ cause error }

// Error returns the cause's.
func (e *absentError) Error() string { return e.cause.Error() }

func (e *absentError) Unwrap() error { return e.cause }

// search asks the books; the error is an [*absentError] when there are none.
func (c *console) search(ctx context.Context, f commission.OrderFilter) ([]commission.Order, int64, error) {
	books, err := c.Books(ctx)
	if err != nil {
		return nil, 0, &absentError{err}
	}
	return books.Orders(ctx, f)
}

func orderTable(orders []commission.Order) table {
	t := table{
		Caption: "Orders, those that changed last first",
		Head:    columns("Order", "Account", "Program", "Sub id", "Day", "Status", "#Order amount", "#Commission", "Currency", "#Events"),
		Empty:   "No orders match.",
	}
	for i := range orders {
		o := &orders[i]
		t.Rows = append(t.Rows, []cell{
			{Text: o.Key.OrderSn, Href: orderPath(o.Key)}, text(o.Key.Account), {Text: o.Key.Program, Title: o.ProgramName}, text(o.SubID),
			text(o.Day), settlementCell(o.Status, o.Vanished), number(o.OrderAmount.String()), number(o.Commission.String()),
			text(o.Currency), count(o.Version),
		})
	}
	return t
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

// mostPages bounds how far a person turns the pages.
const mostPages = 1_000_000

func pageNumber(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, mostPages)
}

func pagerOf(r *http.Request, number, total int) pager {
	last := max((total+ordersAPage-1)/ordersAPage, 1)
	p := pager{Text: plural(uint64(total), "order") + ", page " + strconv.Itoa(number) + " of " + strconv.Itoa(last)}
	if number > 1 {
		p.Prev = with(r, "page", strconv.Itoa(min(number-1, last)))
	}
	if number < last {
		p.Next = with(r, "page", strconv.Itoa(number+1))
	}
	return p
}

// with returns the address of the same page with another value of a parameter.
func with(r *http.Request, name, value string) string {
	q := r.URL.Query()
	q.Set(name, value)
	return r.URL.EscapedPath() + "?" + q.Encode()
}

// moment reads a time that a person has typed: a day, or what a form gives, in UTC.
func moment(r *http.Request, name string) (time.Time, error) {
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
