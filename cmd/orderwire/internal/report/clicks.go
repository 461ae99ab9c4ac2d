package report

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
	"github.com/orderwire/orderwire/sources/openapi"
)

// clickDays is how many days the report of clicks has by default, up to today.
const clickDays = 30

// clickGroups are what clicks can be grouped by, with the networks' words.
var clickGroups = map[string]string{"day": "Day", "program": "ProgramId", "website": "WebsiteId", "sub_id": "SubId"}

// Network is an account's network, as far as it counts clicks.
type Network struct {
	Account    string
	Statistics func(ctx context.Context, q openapi.StatisticsQuery) ([]openapi.Statistic, error)
}

// NetworksOf returns the networks of the configured accounts. Nothing is asked yet.
func NetworksOf(c *config.Config, log *slog.Logger) []Network {
	all := make([]Network, len(c.Accounts))
	for i := range c.Accounts {
		client := sync.OnceValues(func() (*openapi.Client, error) { return c.Accounts[i].Client(log) })
		all[i] = Network{c.Accounts[i].Name, func(ctx context.Context, q openapi.StatisticsQuery) ([]openapi.Statistic, error) {
			asked, err := client()
			if err != nil {
				return nil, err
			}
			return asked.Statistics(ctx, q)
		}}
	}
	return all
}

// NetworkError says which account's network gives no clicks.
type NetworkError struct {
	Account string
	Cause   error
}

// Error names the account and the cause.
func (e *NetworkError) Error() string {
	return fmt.Sprintf("account %s: the network gives no clicks: %v", e.Account, e.Cause)
}

// Unwrap returns the cause.
func (e *NetworkError) Unwrap() error { return e.Cause }

// Clicked is a row of the report of clicks: those of an account that agree in what
// they are grouped by, beside the orders of the books in one currency. A group with
// orders in two currencies has two rows with the same clicks: the rates and the EPC
// of these add up.
type Clicked struct {
	Account string   `json:"account"`
	Group   []string `json:"group"`  // the values in the order of by
	Clicks  int64    `json:"clicks"` // as the network counts them, on their day
	Orders  int64    `json:"orders"` // of the books, in any status, on the day of the order
	// Rate is orders by clicks, with four decimals, "" without clicks.
	Rate       string       `json:"conversion_rate"`
	Currency   string       `json:"currency"`
	Commission schema.Money `json:"commission"` // that counts today, see package commission
	// EPC is the commission of 100 clicks, with two decimals, "" without clicks.
	EPC string `json:"epc"`
}

// clicks lays the networks' clicks beside the orders of the books.
func clicks(ctx context.Context, books *commission.Reader, q *Query) (*Table, error) {
	asked := *q
	networks, err := asked.clicked()
	if err != nil {
		return nil, err
	}
	earned, err := asked.earned(ctx, books, append([]string{"account"}, asked.Group...))
	if err != nil {
		return nil, err
	}
	found := clickSums{}
	for _, n := range networks {
		rows, err := n.Statistics(ctx, asked.statistics())
		if err != nil {
			return nil, &NetworkError{n.Account, err}
		}
		for i := range rows {
			found.count(n.Account, asked.Group, &rows[i])
		}
	}
	rows := found.rows(earned, asked.In)
	header := append(append([]string{"account"}, asked.Group...), "clicks", "orders", "conversion_rate", "currency", "commission", "epc")
	return tableOf(rows, func(c *Clicked) []string {
		return append(append([]string{c.Account}, c.Group...), number(c.Clicks), number(c.Orders), c.Rate, c.Currency, c.Commission.String(), c.EPC)
	}, header...), nil
}

// clicked completes the query and returns the networks that it is about.
func (q *Query) clicked() ([]Network, error) {
	if q.Group == nil {
		q.Group = []string{"day"}
	}
	for i, g := range q.Group {
		if clickGroups[g] == "" || slices.Contains(q.Group[:i], g) {
			return nil, &commission.FilterError{Field: paramBy, Problem: "cannot be " + g + " here; write some of day, program, sub_id, website, each once"}
		}
	}
	q.To = cmp.Or(q.To, q.Now.Format(time.DateOnly))
	last, err := time.Parse(time.DateOnly, q.To)
	if err != nil {
		return nil, &commission.FilterError{Field: "to", Problem: "is no day; write it as YYYY-MM-DD"}
	}
	q.From = cmp.Or(q.From, last.AddDate(0, 0, 1-clickDays).Format(time.DateOnly))
	first, err := time.Parse(time.DateOnly, q.From)
	if err != nil {
		return nil, &commission.FilterError{Field: "from", Problem: "is no day; write it as YYYY-MM-DD"}
	}
	if first.After(last) || !first.AddDate(0, 0, openapi.MaxStatisticsDays).After(last) {
		return nil, &commission.FilterError{Field: "from", Problem: fmt.Sprintf("has to be at most %d days before the last day, and not after it", openapi.MaxStatisticsDays-1)}
	}
	if q.Account == "" {
		return q.Networks, nil
	}
	at := slices.IndexFunc(q.Networks, func(n Network) bool { return n.Account == q.Account })
	if at < 0 {
		return nil, &commission.FilterError{Field: "account", Problem: "is none of the configuration"}
	}
	return q.Networks[at : at+1], nil
}

func (q *Query) statistics() openapi.StatisticsQuery {
	s := openapi.StatisticsQuery{From: q.From, To: q.To, ProgramID: q.ProgramID, WebsiteID: q.WebsiteID, SubID: q.SubID}
	for _, g := range q.Group {
		s.Group = append(s.Group, clickGroups[g])
	}
	return s
}

// clickSums are the clicks by account and group.
type clickSums map[string]*clickSum

type clickSum struct {
	account  string
	group    []string
	currency string // of the network's row
	clicks   int64
	ordered  bool // the books have orders
}

func clickKey(account string, group []string) string {
	return strings.Join(append([]string{account}, group...), "\x00")
}

func (s clickSums) count(account string, by []string, row *openapi.Statistic) {
	group := make([]string, len(by))
	for i, g := range by {
		group[i] = map[string]string{"day": row.Day, "program": row.ProgramID, "website": row.WebsiteID, "sub_id": row.SubID}[g]
	}
	key := clickKey(account, group)
	if s[key] == nil {
		s[key] = &clickSum{account: account, group: group, currency: row.Currency}
	}
	s[key].clicks += row.Clicks
}

// rows joins the clicks with what the books say. Clicks without an order stand under
// the currency that the network gives, or the one that all is converted to.
func (s clickSums) rows(earned []commission.Earned, in string) []Clicked {
	all := []Clicked{}
	for i := range earned {
		e := &earned[i]
		c := Clicked{Account: e.Group[0], Group: e.Group[1:], Orders: e.Orders, Currency: e.Currency, Commission: e.Commission}
		if sum := s[clickKey(c.Account, c.Group)]; sum != nil {
			c.Clicks, sum.ordered = sum.clicks, true
		}
		all = append(all, c)
	}
	for _, sum := range s {
		if !sum.ordered && sum.clicks > 0 {
			all = append(all, Clicked{
				Account: sum.account, Group: sum.group, Clicks: sum.clicks, Currency: cmp.Or(in, sum.currency), Commission: schema.MoneyFromCents(0),
			})
		}
	}
	for i := range all {
		all[i].complete()
	}
	slices.SortFunc(all, func(a, b Clicked) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), slices.Compare(a.Group, b.Group), cmp.Compare(a.Currency, b.Currency))
	})
	return all
}

func (c *Clicked) complete() {
	if c.Clicks == 0 {
		return
	}
	clicks := decimal.NewFromInt(c.Clicks)
	c.Rate = decimal.NewFromInt(c.Orders).DivRound(clicks, 4).StringFixed(4)
	c.EPC = c.Commission.Decimal().Shift(2).DivRound(clicks, 2).StringFixed(2)
}
