package commission

import (
	"context"
	"database/sql"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// posting is what a batch does to the books, worked out in memory: each event
// of an order is posted after the one before it, and each row is written once.
type posting struct {
	days     calendar
	counters counters

	orders  map[schema.OrderKey]*state // the newest state; none for an order that is not there
	changed []schema.OrderKey          // those with a new state

	transactions *rows
	entries      *rows
	balances     map[balance]int64
	dimensions   *dimensions
	sums         sums
}

// counters are the position and the numbers given out last.
type counters struct{ sequence, order, transaction, dimension int64 }

// lock keeps other writers away until the end of the transaction.
func (c *counters) lock(ctx context.Context, s *session) error {
	return s.row(ctx, s.lock, nil, &c.sequence, &c.order, &c.transaction, &c.dimension)
}

// balance is a key of ledger_balances.
type balance struct{ month, account, ledgerAccount, currency string }

const (
	selectCounters  = "SELECT sequence, last_order, last_transaction, last_dimension FROM commission_position WHERE id = 1"
	advanceCounters = "UPDATE commission_position SET sequence = ?, last_order = ?, last_transaction = ?, last_dimension = ? WHERE id = 1"
	selectClosed    = "SELECT COALESCE(MAX(month), '') FROM ledger_months"
)

var (
	transactionColumns = join(numbers("id", "order_id", "version", "sequence"), texts("kind", "observed_at", "posted_on", "month"), numbers("previous", "corrects"))
	entryColumns       = join(numbers("transaction_id", "line"), texts("ledger_account", "currency"), numbers("amount"))
	balanceColumns     = join(texts("month", "account", "ledger_account", "currency"), numbers("amount"))
)

func emptyPosting(d *dimensions) *posting {
	return &posting{
		orders:       map[schema.OrderKey]*state{},
		transactions: insert("ledger_transactions", transactionColumns, ""),
		entries:      insert("ledger_entries", entryColumns, ""),
		balances:     map[balance]int64{},
		dimensions:   d,
		sums:         newSums(),
	}
}

// newPosting keeps other writers away, and reads what a batch goes on from.
func newPosting(ctx context.Context, s *session, zone *time.Location, d *dimensions, states []state) (*posting, error) {
	p := emptyPosting(d)
	if err := p.counters.lock(ctx, s); err != nil {
		return nil, err
	}
	var closed string
	if err := s.row(ctx, selectClosed, nil, &closed); err != nil {
		return nil, err
	}
	p.days = newCalendar(zone, closed)
	if err := p.load(ctx, s, states); err != nil {
		return nil, err
	}
	return p, d.load(ctx, s, states, p.orders)
}

// load reads the orders of a batch.
func (p *posting) load(ctx context.Context, s *session, states []state) error {
	keys := lookup(keyColumns, selectKnown)
	for i := range states {
		k := states[i].key
		if _, seen := p.orders[k]; !seen {
			p.orders[k] = nil
			keys.add(k.Account, k.Program, k.OrderSn)
		}
	}
	return s.read(ctx, keys, func(r *sql.Rows) error {
		known, err := scanKnown(r)
		if err == nil {
			p.orders[known.key] = known
		}
		return err
	})
}

// take posts one event, unless the order is as new.
func (p *posting) take(s *state) error {
	p.counters.sequence = max(p.counters.sequence, int64(s.sequence))
	before := p.orders[s.key]
	if before == nil {
		p.counters.order++
		before = &state{id: p.counters.order}
	} else if s.version <= before.version {
		return nil
	}
	if !before.fresh {
		p.changed = append(p.changed, s.key)
	}
	s.fresh, s.id, s.lastTransaction, s.closedTransaction = true, before.id, before.lastTransaction, before.closedTransaction
	s.redated = before.redated || before.version > 0 && before.day != s.day
	s.dimensionIDs = p.dimensions.numbers(s, &p.counters.dimension)
	if before.version > 0 && before.dimensionIDs == [levels]int64{} {
		before.dimensionIDs = p.dimensions.numbers(before, &p.counters.dimension)
	}
	postedOn := p.days.postedOn(s.observedAt)
	s.approvedOn = approval(before, s, postedOn)
	p.orders[s.key] = s
	p.sums.replace(before, s, postedOn)
	return p.post(before, s, postedOn)
}

// approval returns the day on which an order was approved, "" when it is not.
func approval(before, s *state, postedOn string) string {
	approved := schema.Approved.Value()
	switch {
	case s.counted.status != approved:
		return ""
	case before.counted.status == approved && before.approvedOn != "":
		return before.approvedOn
	case s.chargeDay != "":
		return s.chargeDay
	default:
		return postedOn
	}
}

// post moves the order to where it stands now.
func (p *posting) post(before, s *state, postedOn string) error {
	to, kind, lines := move(before.stands, s.counted)
	s.stands = to
	if len(lines) == 0 {
		return nil
	}
	if err := balanced(lines); err != nil {
		return err
	}
	p.counters.transaction++
	id, month := p.counters.transaction, monthOf(postedOn)
	p.transactions.add(id, s.id, int64(s.version), int64(s.sequence), kind, stamp(s.observedAt), postedOn, month, s.lastTransaction, s.closedTransaction)
	s.lastTransaction = id
	for i, l := range lines {
		p.entries.add(id, int64(i+1), l.account, l.currency, l.amount)
		p.balances[balance{month, s.key.Account, l.account, l.currency}] += l.amount
	}
	return nil
}

// statements are the rows to write, all of them.
func (p *posting) statements() []*rows {
	orders, redated := insert("commission_orders", orderColumns, upsertOrder), insert("commission_orders", orderColumns, upsertRedated)
	for _, k := range p.changed {
		if s := p.orders[k]; s.redated {
			redated.add(s.values()...)
		} else {
			orders.add(s.values()...)
		}
	}
	balances := adding("ledger_balances", balanceColumns, 4)
	for k, amount := range p.balances {
		if amount != 0 {
			balances.add(k.month, k.account, k.ledgerAccount, k.currency, amount)
		}
	}
	return append([]*rows{orders, redated, p.transactions, p.entries, balances, p.dimensions.rows()}, p.sums.rows()...)
}

// write writes all of it.
func (p *posting) write(ctx context.Context, s *session) error {
	for _, r := range p.statements() {
		if err := s.write(ctx, r); err != nil {
			return err
		}
	}
	return s.exec(ctx, advanceCounters, p.counters.sequence, p.counters.order, p.counters.transaction, p.counters.dimension)
}
