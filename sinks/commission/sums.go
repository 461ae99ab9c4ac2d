package commission

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// Kinds of days that sums are kept by.
const (
	byOrderDay      int64 = 1
	bySettlementDay int64 = 2
	byPostingDay    int64 = 3
)

// Levels of detail. Each kind of day is kept on each of them: a report reads the
// coarsest that knows what it asks for, which has far fewer rows. The number in
// the database is that of the kind and three times that of the level.
const (
	inFull    = iota // by all of a dimension
	byProgram        // by account and program
	bySubID          // by account and sub id
	levels
)

// dimension is what orders are summed up by, beside day, currency and status.
// The books number them.
type dimension struct{ account, program, website, subID, link string }

// dimensions returns those of an order, by level.
func (s *state) dimensions() [levels]dimension {
	return [levels]dimension{
		inFull:    {s.key.Account, s.key.Program, s.websiteID, s.subID, s.linkID},
		byProgram: {account: s.key.Account, program: s.key.Program},
		bySubID:   {account: s.key.Account, subID: s.subID},
	}
}

// sumKey, settledKey and approvalKey are the keys of the tables of sums.
type (
	sumKey struct {
		kind             int64
		day              string
		dimension        int64
		currency, status string
	}
	settledKey  struct{ account, program, estimated, confirmed string }
	approvalKey struct {
		account, program string
		days             int64
	}
)

// sum is what is added to a row of sums.
type sum struct{ orders, amount, commission int64 }

type settled struct {
	orders               int64
	estimated, confirmed money // their currencies are not used
}

// sums are the differences that a batch makes.
type sums struct {
	byDay     map[sumKey]sum
	settled   map[settledKey]settled
	approvals map[approvalKey]int64
}

func newSums() sums {
	return sums{map[sumKey]sum{}, map[settledKey]settled{}, map[approvalKey]int64{}}
}

// replace takes an order's old state out and puts the new one in. An order that
// is new has an old state without status.
func (d *sums) replace(before, s *state, postedOn string) {
	counts := before.counted != s.counted || before.dimensionIDs != s.dimensionIDs
	if counts || before.day != s.day || before.chargeDay != s.chargeDay {
		d.count(before, -1)
		d.count(s, 1)
	}
	if counts {
		d.add(byPostingDay, postedOn, before, -1)
		d.add(byPostingDay, postedOn, s, 1)
	}
	if counts || before.estimated != s.estimated {
		d.settle(before, -1)
		d.settle(s, 1)
	}
	if before.approvedOn != s.approvedOn || before.day != s.day {
		d.approve(before, -1)
		d.approve(s, 1)
	}
}

func (d *sums) count(s *state, sign int64) {
	d.add(byOrderDay, s.day, s, sign)
	if s.chargeDay != "" {
		d.add(bySettlementDay, s.chargeDay, s, sign)
	}
}

func (d *sums) add(kind int64, day string, s *state, sign int64) {
	if s.version == 0 {
		return
	}
	for level, id := range s.dimensionIDs {
		k := sumKey{kind + 3*int64(level), day, id, s.counted.currency, s.counted.status}
		have := d.byDay[k]
		d.byDay[k] = sum{have.orders + sign, have.amount + sign*s.counted.amount, have.commission + sign*s.counted.commission}
	}
}

func (d *sums) settle(s *state, sign int64) {
	if account := expected(s.counted.status); account != Confirmed && account != Approved {
		return
	}
	k := settledKey{s.key.Account, s.key.Program, s.estimated.currency, s.counted.currency}
	have := d.settled[k]
	have.orders += sign
	have.estimated.amount += sign * s.estimated.amount
	have.estimated.commission += sign * s.estimated.commission
	have.confirmed.amount += sign * s.counted.amount
	have.confirmed.commission += sign * s.counted.commission
	d.settled[k] = have
}

func (d *sums) approve(s *state, sign int64) {
	if days, ok := daysBetween(s.day, s.approvedOn); ok {
		d.approvals[approvalKey{s.key.Account, s.key.Program, max(0, days)}] += sign
	}
}

// daysBetween counts the days from one to the other; not ok when one is "".
func daysBetween(from, to string) (days int64, ok bool) {
	since, errFrom := time.Parse(time.DateOnly, from)
	until, errTo := time.Parse(time.DateOnly, to)
	return int64(until.Sub(since) / (24 * time.Hour)), errFrom == nil && errTo == nil
}

var (
	sumColumns      = join(numbers("kind"), texts("day"), numbers("dimension_id"), texts("currency", "status"), numbers("orders", "order_amount", "commission"))
	settledColumns  = join(texts("account", "program_id", "estimated_currency", "confirmed_currency"), numbers("orders", "estimated_amount", "estimated_commission", "confirmed_amount", "confirmed_commission"))
	approvalColumns = join(texts("account", "program_id"), numbers("days", "orders"))
)

// adding returns rows that are added to those that are there under the same key,
// which are the first columns.
func adding(table string, columns []column, key int) *rows {
	set := make([]string, 0, len(columns)-key)
	for _, c := range columns[key:] {
		set = append(set, c.name+" = "+table+"."+c.name+" + excluded."+c.name)
	}
	return insert(table, columns, " ON CONFLICT ("+columnNames(columns[:key])+") DO UPDATE SET "+strings.Join(set, ", "))
}

// rows returns the statements for the differences. The rows of a day stand
// beside each other in the database, so they are sorted.
func (d *sums) rows() []*rows {
	byDay, settledRows := adding("commission_sums", sumColumns, 5), adding("commission_settled", settledColumns, 4)
	keys := make([]sumKey, 0, len(d.byDay))
	for k, v := range d.byDay {
		if v != (sum{}) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compareSums)
	for _, k := range keys {
		v := d.byDay[k]
		byDay.add(k.kind, k.day, k.dimension, k.currency, k.status, v.orders, v.amount, v.commission)
	}
	for k, v := range d.settled {
		if v != (settled{}) {
			settledRows.add(k.account, k.program, k.estimated, k.confirmed, v.orders,
				v.estimated.amount, v.estimated.commission, v.confirmed.amount, v.confirmed.commission)
		}
	}
	approvals := adding("commission_approvals", approvalColumns, 3)
	for k, n := range d.approvals {
		if n != 0 {
			approvals.add(k.account, k.program, k.days, n)
		}
	}
	return []*rows{byDay, settledRows, approvals}
}

func compareSums(a, b sumKey) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), strings.Compare(a.day, b.day), cmp.Compare(a.dimension, b.dimension),
		strings.Compare(a.currency, b.currency), strings.Compare(a.status, b.status))
}

// dimensions are the numbers that are known, and those that a batch gives out.
type dimensions struct {
	known map[dimension]int64
	fresh map[dimension]int64
}

// mostDimensions bounds the memory of the known ones.
const mostDimensions = 100_000

var (
	dimensionTexts   = texts("account", "program_id", "website_id", "sub_id", "link_id")
	dimensionColumns = join(numbers("id"), dimensionTexts)
)

const selectDimensions = `
SELECT d.id, d.account, d.program_id, d.website_id, d.sub_id, d.link_id FROM k JOIN commission_dimensions d
ON d.account = k.account AND d.program_id = k.program_id AND d.website_id = k.website_id AND d.sub_id = k.sub_id AND d.link_id = k.link_id`

// load reads the numbers of the dimensions of a batch, and of the orders that are
// there.
func (d *dimensions) load(ctx context.Context, s *session, states []state, known map[schema.OrderKey]*state) error {
	if len(d.known) > mostDimensions {
		clear(d.known)
	}
	d.fresh = map[dimension]int64{}
	wanted, asked := lookup(dimensionTexts, selectDimensions), map[dimension]bool{}
	ask := func(s *state) {
		for _, k := range s.dimensions() {
			if _, known := d.known[k]; !known && !asked[k] {
				asked[k] = true
				wanted.add(k.account, k.program, k.website, k.subID, k.link)
			}
		}
	}
	for i := range states {
		ask(&states[i])
	}
	for _, before := range known {
		if before != nil {
			ask(before)
		}
	}
	return s.read(ctx, wanted, func(r *sql.Rows) error {
		var id int64
		var k dimension
		err := r.Scan(&id, &k.account, &k.program, &k.website, &k.subID, &k.link)
		d.known[k] = id
		return err
	})
}

// numbers returns the numbers of an order's dimensions, by level.
func (d *dimensions) numbers(s *state, last *int64) (ids [levels]int64) {
	for level, k := range s.dimensions() {
		ids[level] = d.number(k, last)
	}
	return ids
}

// number returns the number of a dimension, the next one when it has none.
func (d *dimensions) number(k dimension, last *int64) int64 {
	if id, known := d.known[k]; known {
		return id
	}
	if id, known := d.fresh[k]; known {
		return id
	}
	*last++
	d.fresh[k] = *last
	return *last
}

func (d *dimensions) rows() *rows {
	r := insert("commission_dimensions", dimensionColumns, "")
	for k, id := range d.fresh {
		r.add(id, k.account, k.program, k.website, k.subID, k.link)
	}
	return r
}

// keep remembers the numbers given out, when they are on disk.
func (d *dimensions) keep() {
	for k, id := range d.fresh {
		d.known[k] = id
	}
	d.fresh = nil
}
