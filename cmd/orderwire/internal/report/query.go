package report

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/orderwire/orderwire/sinks/commission"
)

// ErrNoRates says that a currency to convert to was asked for, and that there are no
// rates.
var ErrNoRates = errors.New("there are no exchange rates; name the file of them under commission.rates in the configuration")

// paramBy is the parameter that names what is added up by, the only one that is a list.
const paramBy = "by"

// Query holds the parameters of a report. Those that a report does not take are not
// used.
type Query struct {
	// Query chooses and groups orders. Its Currency chooses the orders in a currency.
	commission.Query
	// In is the currency to convert to, "" for none.
	In string
	// Rates reads the rates for that; nil: there are none.
	Rates func() (*commission.Rates, error)
	// On is the day from which ageing and overdue look back, YYYY-MM-DD; "" for
	// today.
	On string
	// Month of a statement, YYYY-MM; "" for the present one.
	Month string
	// Check holds a closed month to what was kept of it, in place of its statement.
	Check bool
	// Networks are asked for clicks.
	Networks []Network
	// Now is the present time in the zone of the books. Required.
	Now time.Time
}

// Field returns where a parameter is kept: account, program, website, sub_id,
// currency, status, from, to, link, day (what days mean), in, on or month. It returns
// nil for any other, also for by, which is q.Group.
func (q *Query) Field(name string) *string {
	return map[string]*string{
		"account": &q.Account, "program": &q.ProgramID, "website": &q.WebsiteID, "sub_id": &q.SubID, "currency": &q.Currency,
		"status": &q.Status, "from": &q.From, "to": &q.To, "link": &q.LinkID, "day": &q.By, "in": &q.In, "on": &q.On, "month": &q.Month,
	}[name]
}

// help says what parameters mean.
var help = map[string]string{
	"account": "only this account", "program": "only this program", "website": "only this website", "sub_id": "only this sub id",
	"currency": "only orders in this currency", "status": "only this status: -1, 0, 1, 2 or its name",
	"from": "first day, YYYY-MM-DD", "to": "last day, YYYY-MM-DD", "link": "only this link",
	"day":   "what days mean: order, settlement or posting (default order)",
	"in":    "convert all of it to this currency, at the rates of commission.rates",
	"on":    "the day to look from, YYYY-MM-DD (default today, in commission.time_zone)",
	"month": "the month, YYYY-MM (default the present one, in commission.time_zone)",
	paramBy: "add up by " + strings.Join(commission.Groupings(), ", ") + " (clicks: by day, program, sub_id, website)",
}

// Help says what a parameter means, for people.
func Help(name string) string { return help[name] }

func (q *Query) today() string { return cmp.Or(q.On, q.Now.Format(time.DateOnly)) }

func (q *Query) month() string { return cmp.Or(q.Month, q.Now.Format("2006-01")) }

// rates reads the rates.
func (q *Query) rates() (*commission.Rates, error) {
	if q.Rates == nil {
		return nil, ErrNoRates
	}
	return q.Rates()
}

// RatesIn returns what reads the rates of a file, nil for no file. The error wraps
// that of the file, or is a [*commission.RateError] with its line.
func RatesIn(path string) func() (*commission.Rates, error) {
	if path == "" {
		return nil
	}
	return func() (rates *commission.Rates, err error) {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		return commission.ReadRates(file)
	}
}
