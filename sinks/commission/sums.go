package commission

import (
	"cmp"
	"slices"
)

// Kinds of days that sums are kept by, on each level: a report reads the one that
// knows what it asks for. In full they are kept by day of posting alone, behind each
// other, see [change]; by the other days there would be about as many as orders, which
// tell the same.
const (
	byOrderDay      int64 = 1
	bySettlementDay int64 = 2
	byPostingDay    int64 = 3
)

// sumKey, settledKey and approvalKey are the keys of the tables of sums.
type (
	sumKey struct {
		kind, day, dimension, currency, status int64
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
func (d *sums) replace(before, s *state, postedOn int64) {
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
	if s.chargeDay != 0 {
		d.add(bySettlementDay, s.chargeDay, s, sign)
	}
}

func (d *sums) add(kind, day int64, s *state, sign int64) {
	if s.version == 0 {
		return
	}
	k := sumKey{day: day, currency: s.currency, status: s.status}
	for level, id := range s.dimensionIDs {
		if level == inFull && kind != byPostingDay {
			continue
		}
		k.kind, k.dimension = kind+3*int64(level), id
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
	if s.day != 0 && s.approvedOn != 0 {
		days := daysFrom(s.day, s.approvedOn)
		d.approvals[approvalKey{s.key.Account, s.key.Program, max(0, days)}] += sign
	}
}

var (
	sumColumns      = numbers("kind", "day", "dimension_id", "currency", "status", "orders", "order_amount", "commission")
	settledColumns  = join(texts("account", "program_id", "estimated_currency", "confirmed_currency"), numbers("orders", "estimated_amount", "estimated_commission", "confirmed_amount", "confirmed_commission"))
	approvalColumns = join(texts("account", "program_id"), numbers("days", "orders"))
)

// adding is what rows of sums become that are there already.
func adding(table, given string, columns []column) []assignment {
	set := make([]assignment, len(columns))
	for i, c := range columns {
		set[i] = assignment{c.name, table + "." + c.name + " + " + given + "." + c.name}
	}
	return set
}

// upsertSums returns rows that are added to those that are there under the same
// key, which are the first columns.
func upsertSums(table string, columns []column, key int) *rows {
	return upsert(table, columns, key, adding(table, "excluded", columns[key:]))
}

// sumKeys are keys of sums that are in the database for certain: rows of sums are
// never taken away.
type sumKeys struct {
	known map[sumKey]struct{}
	fresh []sumKey // of a batch
}

// mostSumKeys bounds the memory of the known ones.
const mostSumKeys = 200_000

func (k *sumKeys) keep() {
	if len(k.known) > mostSumKeys {
		clear(k.known)
	}
	for _, key := range k.fresh {
		k.known[key] = struct{}{}
	}
}

// rows yields the statements for the differences of a batch that takes the log to a
// sequence.
func (d *sums) rows(at *dialect, there *sumKeys, sequence int64, yield func(*rows)) {
	levels, full := d.keys()
	yield(d.changes(full, sequence))
	d.levels(at, there, levels, yield)
	settledRows := upsertSums("commission_settled", settledColumns, 4)
	for k, v := range d.settled {
		if v != (settled{}) {
			settledRows.add(k.account, k.program, k.estimated, k.confirmed, v.orders,
				v.estimated.amount, v.estimated.commission, v.confirmed.amount, v.confirmed.commission)
		}
	}
	approvals := upsertSums("commission_approvals", approvalColumns, 3)
	for k, n := range d.approvals {
		if n != 0 {
			approvals.add(k.account, k.program, k.days, n)
		}
	}
	yield(settledRows)
	yield(approvals)
}

// keys returns those of the sums that change, of the levels and in full. The rows of
// a day stand beside each other in the database, so they are sorted.
func (d *sums) keys() (levels, full []sumKey) {
	for k, v := range d.byDay {
		switch {
		case v == (sum{}):
		case k.kind == byPostingDay:
			full = append(full, k)
		default:
			levels = append(levels, k)
		}
	}
	slices.SortFunc(levels, compareSums)
	slices.SortFunc(full, compareSums)
	return levels, full
}

// levels yields the statements for the sums of the levels.
func (d *sums) levels(at *dialect, there *sumKeys, keys []sumKey, yield func(*rows)) {
	const table, key = "commission_totals", 5
	byDay := upsertSums(table, sumColumns, key)
	known := at.update(table, sumColumns, key, adding(table, at.given, sumColumns[key:]))
	there.fresh = there.fresh[:0]
	for _, k := range keys {
		to, v := byDay, d.byDay[k]
		if _, found := there.known[k]; found {
			to = known
		} else {
			there.fresh = append(there.fresh, k)
		}
		to.reserve(len(keys))
		to.add(k.kind, k.day, k.dimension, k.currency, k.status, v.orders, v.amount, v.commission)
	}
	yield(known)
	yield(byDay)
}

func compareSums(a, b sumKey) int {
	switch {
	case a.kind != b.kind:
		return cmp.Compare(a.kind, b.kind)
	case a.day != b.day:
		return cmp.Compare(a.day, b.day)
	case a.dimension != b.dimension:
		return cmp.Compare(a.dimension, b.dimension)
	case a.currency != b.currency:
		return cmp.Compare(a.currency, b.currency)
	default:
		return cmp.Compare(a.status, b.status)
	}
}
