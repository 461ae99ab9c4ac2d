package network

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxStatisticsDays is how many days statistics may be asked for at once.
const MaxStatisticsDays = 366

// statisticsData is a row of statistics. Of Day, ProgramId, WebsiteId and SubId
// it has those that it is grouped by; one without a value is absent.
type statisticsData struct {
	Day       string `json:",omitempty"`
	ProgramID string `json:"ProgramId,omitempty"`
	WebsiteID string `json:"WebsiteId,omitempty"`
	SubID     string `json:"SubId,omitempty"`
	Currency  string `json:",omitempty"` // of OrdersPrice and SiterCommission

	Clicks          string // on their day
	Orders          string // by their OrderTime, in any status
	OrdersPrice     string // of all of them
	SiterCommission string
	InvalidOrders   string // now in this status
	ConfirmedOrders string
	ApprovedOrders  string

	ConfirmPrice           string
	ConfirmSiterCommission string
	ChargeCurrency         string `json:",omitempty"` // of the confirmed amounts
}

// statisticsKeys are what statistics can be grouped by, and the first of them
// is the default. none stands for one that is not asked for.
var statisticsKeys = []struct{ name, column, none string }{
	{"Day", "s.day", "0"}, {"ProgramId", "s.program_id", "''"}, {"WebsiteId", "s.website_id", "''"}, {"SubId", "s.sub_id", "''"},
}

// The currencies of a row. Clicks, which have none, and orders that were never
// settled count under those that their program has now.
const statisticsCurrencies = `CASE s.currency WHEN '' THEN COALESCE(p.currency, '') ELSE s.currency END,
	CASE s.charge_currency WHEN '' THEN COALESCE(p.charge_currency, '') ELSE s.charge_currency END`

// statisticsQuery asks for statistics. Amounts of different currencies are
// never added up: each pair of currencies has a row of its own.
type statisticsQuery struct {
	selection
	groups []string // names of statisticsKeys
	bySub  bool     // sub ids matter
	days   [2]int64 // both included
}

// parseStatistics reads the parameters of statistics.get.
func (s *Service) parseStatistics(by caller, f *form) (*statisticsQuery, error) {
	q := &statisticsQuery{groups: groupBy(f), days: [2]int64{s.dayParameter(f, "Stime"), s.dayParameter(f, "Etime")}}
	q.paging = parsePaging(f)
	oneSub := f.text("SubId") != ""
	q.bySub = oneSub || slices.Contains(q.groups, "SubId")
	q.build(by.publisher, oneSub)
	for _, key := range statisticsKeys[1:] {
		q.equal(key.column, f.text(key.name))
	}
	q.query += " GROUP BY " + q.order
	switch from, to := q.days[0], q.days[1]; {
	case f.err != nil:
		return nil, f.err
	case to < from:
		f.breaks("Etime", "not before Stime")
		return nil, f.err
	case to-from >= MaxStatisticsDays:
		return nil, refuse(StatusSpan, "Etime: want at most %d days from Stime on", MaxStatisticsDays)
	}
	return q, nil
}

// build begins the statement. Its columns are those of statisticsKeys, the
// currencies and the figures.
func (q *statisticsQuery) build(publisher int64, oneSub bool) {
	var columns, places []string
	for i, key := range statisticsKeys {
		if slices.Contains(q.groups, key.name) {
			columns, places = append(columns, key.column), append(places, strconv.Itoa(i+1))
		} else {
			columns = append(columns, key.none)
		}
	}
	columns = append(columns, statisticsCurrencies)
	for _, column := range figureColumns {
		columns = append(columns, "CAST(SUM(s."+column+") AS BIGINT)")
	}
	rows := "s.by_sub = 0"
	switch {
	case oneSub:
		rows = "s.by_sub + 0 = 1" // or SQLite prefers the primary key to the index of sub ids
	case q.bySub:
		rows = "s.by_sub = 1"
	}
	q.order = strings.Join(append(places, "5", "6"), ", ")
	q.query = "SELECT " + strings.Join(columns, ", ") + " FROM statistics s LEFT JOIN programs p ON p.id = s.program_id" +
		" WHERE s.publisher_id = ? AND " + rows + " AND s.day BETWEEN ? AND ?"
	q.args = []any{publisher, q.days[0], q.days[1]}
}

// groupBy reads a comma list of names, in any order.
func groupBy(f *form) []string {
	text := f.text("GroupBy")
	if text == "" {
		return []string{statisticsKeys[0].name}
	}
	names := strings.Split(text, ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
		if !slices.ContainsFunc(statisticsKeys, func(k struct{ name, column, none string }) bool { return k.name == names[i] }) {
			f.breaks("GroupBy", "a comma list of Day, ProgramId, WebsiteId and SubId")
		}
	}
	return names
}

// dayParameter reads a day of the service's zone: yyyy-MM-dd, or Unix seconds,
// for the day that they fall on.
func (s *Service) dayParameter(f *form, name string) int64 {
	text := f.required(name)
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return calendar{}.day(t.Unix())
	}
	if strings.Trim(text, "0123456789") != "" {
		f.breaks(name, "a day as yyyy-MM-dd, or Unix seconds")
		return 0
	}
	return s.store.days.day(f.integer(name, 0, 0, maxInteger))
}

// statistics answers statistics.get.
func (s *Service) statistics(ctx context.Context, by caller, f *form, b []byte) ([]byte, error) {
	q, err := s.parseStatistics(by, f)
	if err != nil {
		return nil, err
	}
	var mark string
	if err := s.store.row(ctx, `SELECT zone FROM counters WHERE id = 1`, nil, &mark); err != nil {
		return nil, fmt.Errorf("zone of the statistics: %w", err)
	}
	if mark != s.store.days.mark {
		return nil, &refusal{status: StatusInternal, message: "internal error, try again later", err: errOtherDays}
	}
	return s.store.page(ctx, &q.selection, b, q.scan)
}

func (q *statisticsQuery) scan(row scan) (any, error) {
	var d statisticsData
	var day int64
	var n figures
	dest := []any{&day, &d.ProgramID, &d.WebsiteID, &d.SubID, &d.Currency, &d.ChargeCurrency}
	for i := range n {
		dest = append(dest, &n[i])
	}
	err := row(dest...)
	if slices.Contains(q.groups, "Day") {
		d.Day = dayText(day)
	}
	count := func(figure int) string { return strconv.FormatInt(n[figure], 10) }
	amount := func(figure int) string { return cents(n[figure]).money().String() }
	d.Clicks, d.Orders = count(figureClicks), count(figureOrders)
	d.InvalidOrders, d.ConfirmedOrders, d.ApprovedOrders = count(figureInvalid), count(figureConfirmed), count(figureApproved)
	d.OrdersPrice, d.SiterCommission = amount(figurePrice), amount(figureCommission)
	d.ConfirmPrice, d.ConfirmSiterCommission = amount(figureConfirmPrice), amount(figureConfirmCommission)
	return d, err
}
