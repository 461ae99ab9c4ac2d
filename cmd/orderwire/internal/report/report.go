// Package report defines the reports once, for the command line and for HTTP: which
// parameters each takes, what it reads, and its rows as text and as JSON. Beside the
// reports of the commission books stand the lists that only HTTP shows: orders, the
// events of one order, dead letters, the archive.
package report

import (
	"context"
	"errors"
	"slices"

	"github.com/orderwire/orderwire/sinks/commission"
)

// Report is one of the reports. Create none; see [All].
type Report struct {
	// Name is that of `orderwire report NAME` and of /api/v1/reports/NAME.
	Name string
	// Takes names the parameters, see [Query.Field].
	Takes []string

	read func(ctx context.Context, books *commission.Reader, q *Query) (*Table, error)
}

// Read makes the report. The error is a [*commission.FilterError] for a parameter
// that cannot be used, a [*commission.RateError] for a rate that is missing or
// wrong, [ErrNoRates], a [*commission.StoreError], for clicks a [*NetworkError], or for
// a month that is checked a [*commission.MonthError].
func (r *Report) Read(ctx context.Context, books *commission.Reader, q *Query) (*Table, error) {
	return r.read(ctx, books, q)
}

// Grouped reports whether the report takes what it is added up by.
func (r *Report) Grouped() bool { return slices.Contains(r.Takes, paramBy) }

// filterNames are the parameters of [commission.Filter].
var filterNames = []string{"account", "program", "website", "sub_id", "currency", "status", "from", "to"}

var all = []Report{
	{Earnings, slices.Concat(filterNames, []string{"link", "day", paramBy, "in"}), earnings},
	{SubIDs, slices.Concat(filterNames, []string{"link", "day", "in"}), subIDs},
	{Statement, []string{"month", "account"}, statement},
	{Ageing, []string{"account", "program", "website", "sub_id", "currency", "from", "to", "on"}, ageing},
	{Reversals, []string{"account", "program", "website", "sub_id", "from", "to"}, reversals},
	{Overdue, []string{"account", "program", "on"}, overdue},
	{EstimatedAndConfirmed, []string{"account", "program", "currency"}, estimatedAndConfirmed},
	{Conversions, []string{"account", "program", "currency"}, conversions},
	{Clicks, []string{"account", "program", "website", "sub_id", "from", "to", paramBy, "in"}, clicks},
}

// The names of the reports.
const (
	Earnings              = "earnings"
	SubIDs                = "sub-ids"
	Statement             = "statement"
	Ageing                = "ageing"
	Reversals             = "reversals"
	Overdue               = "overdue"
	EstimatedAndConfirmed = "estimated-vs-confirmed"
	Conversions           = "conversions"
	Clicks                = "clicks"
)

// All returns the reports of the books, in the order of the documentation.
func All() []Report { return slices.Clone(all) }

// Find returns a report by its name, nil when there is none.
func Find(name string) *Report {
	at := slices.IndexFunc(all, func(r Report) bool { return r.Name == name })
	if at < 0 {
		return nil
	}
	r := all[at]
	return &r
}

// ErrNoBooks says that there are no commission books to read.
var ErrNoBooks = errors.New("there are no commission books yet; they come with the first events")
