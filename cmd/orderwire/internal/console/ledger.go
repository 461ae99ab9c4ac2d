package console

import (
	"cmp"
	"context"
	"errors"
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

// parts are the pages of the ledger.
var parts = []entry{{"/ledger", "Statement"}, {"/ledger/earnings", "Earnings"}, {"/ledger/waiting", "Ageing and overdue"}, {"/ledger/programs", "Programs"}}

// ledgerPage is the statement of a month.
type ledgerPage struct {
	Month, Account string // of the filter
	Months         []commission.Month
	Notice, Alert  string
	State          cell
	Facts          []fact
	Open           bool // it can be closed
	Closed         bool // by itself, so that it can be checked
	Tiles          []tile
	Uneven         string // what does not add up to zero, "" when all does
	Table          table
}

func (c *console) ledger(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	return c.showLedger(w, r, &ledgerPage{Month: strings.TrimSpace(q.Get("month")), Account: strings.TrimSpace(q.Get("account"))})
}

// checkMonth reads a closed month again. One at a time: that of a large month
// takes some time.
func (c *console) checkMonth(w http.ResponseWriter, r *http.Request) error {
	select {
	case c.checking <- struct{}{}:
		defer func() { <-c.checking }()
	default:
		return &pageError{http.StatusTooManyRequests, "A month is being checked. Wait until that is done."}
	}
	p := &ledgerPage{Month: strings.TrimSpace(r.PostFormValue("month"))}
	books, err := c.open(r.Context())
	if err != nil {
		return err
	}
	closing, err := books.CheckMonth(r.Context(), p.Month)
	var different *commission.MonthError
	switch {
	case errors.As(err, &different):
		p.Alert = different.Error()
	case err != nil:
		return mistaken(err)
	default:
		p.Notice = p.Month + " is as it was closed: " + plural(uint64(closing.Transactions), "transaction") + ", SHA-256 " + closing.Digest + "."
	}
	return c.showLedger(w, r, p)
}

func (c *console) showLedger(w http.ResponseWriter, r *http.Request, p *ledgerPage) error {
	return c.booksPage(w, r, "ledger", page{Title: "Ledger", At: "Ledger", Parts: parts, Part: "Statement", Body: p}, func(ctx context.Context, books Books) (err error) {
		if p.Months, err = books.Months(ctx); err != nil {
			return err
		}
		now := c.now().In(c.Zone).Format("2006-01")
		p.Month = cmp.Or(p.Month, now)
		s, err := books.Statement(ctx, p.Month, p.Account)
		if err != nil {
			return err
		}
		for _, month := range []string{now, p.Month} {
			if !slices.ContainsFunc(p.Months, func(m commission.Month) bool { return m.Month == month }) {
				p.Months = append(p.Months, commission.Month{Month: month})
			}
		}
		slices.SortFunc(p.Months, func(a, b commission.Month) int { return strings.Compare(b.Month, a.Month) })
		p.describe(s, c.clock(r))
		p.Table = statementTable(s)
		return sentAs(w, r, "statement-"+p.Month, &p.Table)
	})
}

// describe says whether the month is closed, and what it comes to.
func (p *ledgerPage) describe(s *commission.Statement, k clock) {
	switch {
	case s.Closing != nil:
		p.Closed = true
		p.State = cell{Text: "closed", Badge: "good"}
		p.Facts = []fact{
			{"Closed at", k.at(s.Closing.ClosedAt, "")},
			{"Transactions", count(uint64(s.Closing.Transactions))}, {"SHA-256", text(s.Closing.Digest)},
		}
	case s.Closed:
		p.State = cell{Text: "closed", Badge: "good", Title: "with a later month: nothing had been posted to it"}
	default:
		p.State, p.Open = cell{Text: "open", Badge: "calm"}, true
	}
	end := "at the month's end"
	if s.Month == k.now.UTC().Format("2006-01") {
		end = "so far"
	}
	sums, left := make(map[[2]string]decimal.Decimal), make(map[string]decimal.Decimal)
	for i := range s.Lines {
		l := &s.Lines[i]
		k := [2]string{l.Currency, l.LedgerAccount}
		sums[k] = sums[k].Add(l.Closing.Decimal())
		left[l.Currency] = left[l.Currency].Add(l.Closing.Decimal())
	}
	var currencies []string
	for currency, rest := range left {
		currencies = append(currencies, currency)
		if !rest.IsZero() {
			p.Uneven = "The accounts in " + named(currency) + " do not add up to 0 but to " + rest.StringFixed(2) + "."
		}
	}
	slices.Sort(currencies)
	for _, currency := range currencies {
		for _, account := range []string{commission.Estimated, commission.Confirmed, commission.Approved} {
			if sum, has := sums[[2]string{currency, account}]; has {
				p.Tiles = append(p.Tiles, tile{
					Name: strings.ToUpper(account[:1]) + account[1:] + " " + named(currency), Figure: groupedMoney(schema.NewMoney(sum)), Note: end,
					Href: postingsHref(s.Month, commission.PartClosing, p.Account, account, currency),
				})
			}
		}
	}
}

// named shows a currency.
func named(currency string) string { return cmp.Or(currency, "no currency") }

func statementTable(s *commission.Statement) table {
	t := table{
		Caption: "Statement of " + s.Month, Group: 2, Head: columns("Account", "Currency", "Ledger account", "#Opening", "#Movement", "#Closing"),
		Empty: "Nothing was posted up to the end of this month. What orders are worth is posted when they are first seen, and when they change.",
	}
	lines := slices.SortedStableFunc(slices.Values(s.Lines), func(a, b commission.StatementLine) int {
		return cmp.Or(strings.Compare(a.Account, b.Account), strings.Compare(a.Currency, b.Currency), cmp.Compare(accountRank(a.LedgerAccount), accountRank(b.LedgerAccount)))
	})
	for i := range lines {
		l := &lines[i]
		row := []cell{text(l.Account), text(l.Currency), {Text: l.LedgerAccount, Title: accountMeaning[l.LedgerAccount]}}
		for _, part := range []struct {
			name string
			sum  schema.Money
		}{{commission.PartOpening, l.Opening}, {commission.PartMovement, l.Movement}, {commission.PartClosing, l.Closing}} {
			sum := amountCell(part.sum)
			if !part.sum.Decimal().IsZero() {
				sum.Href = postingsHref(s.Month, part.name, l.Account, l.LedgerAccount, l.Currency)
			}
			row = append(row, sum)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// inBooks is the order of the ledger's accounts: what is expected, what was lost, and
// the other sides.
var inBooks = []string{
	commission.Estimated, commission.Confirmed, commission.Approved, commission.Reversed, commission.Adjustment, commission.Conversion, commission.Earnings,
}

// accountRank is the place of an account in the books; others come last.
func accountRank(account string) int {
	if at := slices.Index(inBooks, account); at >= 0 {
		return at
	}
	return len(inBooks)
}

// accountMeaning says what the accounts of the ledger are.
var accountMeaning = map[string]string{
	commission.Estimated: "commission of pending orders", commission.Confirmed: "commission of confirmed orders", commission.Approved: "commission of approved orders",
	commission.Reversed: "what was lost", commission.Earnings: "against the first recognition of an order",
	commission.Adjustment: "against later changes of amount", commission.Conversion: "against a change of currency, in both currencies",
}

func postingsHref(month, part, account, ledgerAccount, currency string) string {
	v := url.Values{"month": {month}, "part": {part}, "ledger_account": {ledgerAccount}, "currency": {currency}}
	if account != "" {
		v.Set("account", account)
	}
	return "/ledger/postings?" + v.Encode()
}

// amountCell shows an amount, with commas.
func amountCell(m schema.Money) cell {
	return cell{Text: groupedMoney(m), Value: m.String(), Number: true}
}

// groupedMoney writes an amount for people. What an order holds is never longer
// than a number of 64 bits.
func groupedMoney(m schema.Money) string {
	plain := m.String()
	units, fraction, _ := strings.Cut(plain, ".")
	digits := strings.TrimPrefix(units, "-")
	n, ok := decimalInt(digits)
	if !ok || fraction == "" {
		return plain
	}
	return strings.TrimSuffix(units, digits) + humanize.Comma(n) + "." + fraction
}

func decimalInt(s string) (int64, bool) {
	d, err := decimal.NewFromString(s)
	if err != nil || !d.IsInteger() || len(s) > 18 {
		return 0, false
	}
	return d.IntPart(), true
}

// postingsPage is what stands behind a sum of the statement.
type postingsPage struct {
	Facts []fact
	Back  string
	Table table
	Pager pager
}

// postingSorts are the columns that the books can sort by.
var postingSorts = []string{"order", "account", "program", "sub_id", "day", "status", "postings", "amount"}

func (c *console) postings(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f := commission.PostingFilter{
		Month: q.Get("month"), Part: q.Get("part"), LedgerAccount: q.Get("ledger_account"), Currency: q.Get("currency"), Account: q.Get("account"),
		Limit: rowsAPage, Offset: (pageNumber(r) - 1) * rowsAPage,
	}
	if f.Month == "" { // an address that somebody has cut off
		http.Redirect(w, r, "/ledger", http.StatusSeeOther)
		return nil
	}
	p := &postingsPage{Back: "/ledger?" + url.Values{"month": {f.Month}}.Encode()}
	p.Table = table{
		Caption: "Orders behind the sum", Head: columns("Order", "Account", "Program", "Sub id", "Day", "Status", "#Postings", "#Amount"), Empty: "No orders stand behind it.",
	}
	by := p.Table.sortable(r, postingSorts...)
	f.Sort, f.Descending = by.key, by.down
	if asFile(r) {
		f.Limit, f.Offset = ordersAFile, 0
	}
	return c.booksPage(w, r, "postings", page{Title: "Postings", At: "Ledger", Parts: parts, Part: "Statement", Body: p}, func(ctx context.Context, books Books) error {
		ctx, cancel := context.WithTimeout(ctx, drillLimit)
		defer cancel()
		found, err := books.Posted(ctx, f)
		if err != nil {
			return err
		}
		p.Facts = []fact{
			{"Month", text(f.Month)}, {"Sum", text(f.Part)}, {"Ledger account", cell{Text: f.LedgerAccount, Title: accountMeaning[f.LedgerAccount]}},
			{"Account", text(cmp.Or(f.Account, "all"))}, {"Amount", text(groupedMoney(found.Amount) + " " + f.Currency)}, {"Orders", count(uint64(found.Total))},
		}
		for i := range found.Orders {
			o := &found.Orders[i]
			p.Table.Rows = append(p.Table.Rows, []cell{
				linked(text(o.Key.OrderSn), orderPath(o.Key)), text(o.Key.Account), text(o.Key.Program), text(o.SubID), text(o.Day),
				settlementCell(o.Status, false), count(uint64(o.Count)), amountCell(o.Amount),
			})
		}
		if asFile(r) {
			return errors.Join(writeFile(w, r, "postings", &p.Table), errSent)
		}
		p.Table.Export = exportOf(r, "")
		p.Pager = pagerOf(r, "page", int(found.Total), rowsAPage, "order")
		return nil
	})
}

// drillLimit bounds how long the books look for what stands behind a sum.
const drillLimit = 30 * time.Second
