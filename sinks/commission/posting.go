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
	*registers

	orders  map[stateKey]*state // the newest state; none for an order that is not there
	changed []*state            // the newest states of those that have a new one, in the order of the first

	postings *rows
	balances map[balance]int64
	spans    map[string]span // by month
	sums     sums
}

// counters are the position and the numbers given out last.
type counters struct{ sequence, order, transaction, dimension, word int64 }

// lock keeps other writers away until the end of the transaction.
func (c *counters) lock(ctx context.Context, s *session) error {
	return s.row(ctx, s.lock, nil, &c.sequence, &c.order, &c.transaction, &c.dimension, &c.word)
}

// balance is a key of ledger_balances.
type balance struct{ month, account, ledgerAccount, currency string }

// span holds the first and the last transaction of a batch in a month.
type span struct{ first, last int64 }

const (
	selectCounters  = "SELECT sequence, last_order, last_transaction, last_dimension, last_text FROM commission_position WHERE id = 1"
	advanceCounters = "UPDATE commission_position SET sequence = ?, last_order = ?, last_transaction = ?, last_dimension = ?, last_text = ? WHERE id = 1"
	selectClosed    = "SELECT COALESCE(MAX(month), '') FROM ledger_months"
)

var (
	postingColumns = join(numbers("id", "order_id", "version", "sequence", "kind"), texts("observed_at"), numbers("posted_on", "previous", "corrects",
		"account_1", "amount_1", "account_2", "amount_2", "currency", "account_3", "amount_3", "account_4", "amount_4", "currency_3"))
	balanceColumns = join(texts("month", "account", "ledger_account", "currency"), numbers("amount", "first_transaction", "last_transaction"))
	addBalance     = []assignment{{"amount", "ledger_balances.amount + excluded.amount"}, {"last_transaction", "excluded.last_transaction"}}
)

func emptyPosting(r *registers) *posting {
	r.begin()
	return &posting{
		registers: r,
		orders:    map[stateKey]*state{},
		postings:  insert("ledger_postings", postingColumns, ""),
		balances:  map[balance]int64{},
		spans:     map[string]span{},
		sums:      newSums(),
	}
}

// number returns the number of a word.
func (p *posting) number(word string) int64 { return p.words.number(word, &p.counters.word) }

// newPosting keeps other writers away, and reads what a batch goes on from.
func newPosting(ctx context.Context, s *session, zone *time.Location, r *registers, states []state) (*posting, error) {
	p := emptyPosting(r)
	if err := p.counters.lock(ctx, s); err != nil {
		return nil, err
	}
	var closed string
	if err := s.row(ctx, selectClosed, nil, &closed); err != nil {
		return nil, err
	}
	p.days = newCalendar(zone, closed)
	if err := p.words.load(ctx, s.tx, s.dialect, p.counters.word); err != nil {
		return nil, err
	}
	if err := p.dimensions.load(ctx, s, dimensionsOf(states)); err != nil {
		return nil, err
	}
	return p, p.load(ctx, s, states)
}

// load reads the orders of a batch.
func (p *posting) load(ctx context.Context, s *session, states []state) error {
	keys, strange := lookup(keyColumns, selectKnown), map[int64]bool{}
	for i := range states {
		s := &states[i]
		s.dimensionIDs = p.dimensions.numbers(s.dimension(), &p.counters.dimension)
		k := s.stateKey()
		if _, seen := p.orders[k]; !seen {
			p.orders[k] = nil
			keys.add(k.owner, k.orderSn)
		}
	}
	err := s.read(ctx, keys, func(r *sql.Rows) error {
		k, known, err := scanKnown(r, p.words.text)
		if err != nil {
			return err
		}
		p.orders[k] = known
		if id := known.dimensionIDs[inFull]; p.dimensions.levels[id] == [levels]int64{} {
			strange[id] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.dimensions.loadNumbered(ctx, s, strange, &p.counters.dimension)
}

// take posts one event, unless the order is as new.
func (p *posting) take(s *state) error {
	p.counters.sequence = max(p.counters.sequence, int64(s.sequence))
	k := s.stateKey()
	before := p.orders[k]
	switch {
	case before == nil:
		p.counters.order++
		before = &state{id: p.counters.order, created: true}
	case s.version <= before.version:
		return nil
	}
	s.id, s.lastTransaction, s.closedTransaction = before.id, before.lastTransaction, before.closedTransaction
	s.place, s.created = before.place, before.created
	s.status, s.currency = p.number(s.counted.status), p.number(s.counted.currency)
	if s.place == 0 {
		p.changed = append(p.changed, nil)
		s.place = len(p.changed)
	}
	p.changed[s.place-1] = s
	if before.version > 0 {
		before.key, before.dimensionIDs = s.key, p.dimensions.levels[before.dimensionIDs[inFull]]
		s.moved = before.moved || before.day != s.day || before.dimensionIDs != s.dimensionIDs ||
			before.programName != s.programName || before.estimated != s.estimated
	}
	postedOn := p.days.postedOn(s.observedAt)
	s.approvedOn = approval(before, s, postedOn)
	p.orders[k] = s
	p.sums.replace(before, s, postedOn)
	return p.post(before, s, postedOn)
}

// approval returns the day on which an order was approved, 0 when it is not.
func approval(before, s *state, postedOn int64) int64 {
	approved := schema.Approved.Value()
	switch {
	case s.counted.status != approved:
		return 0
	case before.counted.status == approved && before.approvedOn != 0:
		return before.approvedOn
	case s.chargeDay != 0:
		return s.chargeDay
	default:
		return postedOn
	}
}

// post moves the order to where it stands now.
func (p *posting) post(before, s *state, postedOn int64) error {
	to, kind, lines := move(before.stands, s.counted)
	s.stands = to
	if len(lines) == 0 {
		return nil
	}
	if err := balanced(lines); err != nil {
		return err
	}
	p.counters.transaction++
	id, month := p.counters.transaction, monthText(postedOn)
	p.postings.reserve(len(p.orders))
	p.postings.add(id, s.id, int64(s.version), int64(s.sequence), p.number(kind), s.observed, postedOn, s.lastTransaction, s.closedTransaction)
	p.addLines(lines)
	s.lastTransaction = id
	if p.spans[month].first == 0 {
		p.spans[month] = span{id, id}
	}
	p.spans[month] = span{p.spans[month].first, id}
	for _, l := range lines {
		p.balances[balance{month, s.key.Account, l.account, l.currency}] += l.amount
	}
	return nil
}

// addLines completes a row of postings. Lines 1 and 2 share a currency, and so do
// 3 and 4, see [move].
func (p *posting) addLines(lines []posted) {
	var none int64
	p.postings.add(p.number(lines[0].account), lines[0].amount, p.number(lines[1].account), lines[1].amount, p.number(lines[0].currency))
	switch len(lines) {
	case 2:
		p.postings.add(none, none, none, none, none)
	case 3:
		p.postings.add(p.number(lines[2].account), lines[2].amount, none, none, p.number(lines[2].currency))
	default:
		p.postings.add(p.number(lines[2].account), lines[2].amount, p.number(lines[3].account), lines[3].amount, p.number(lines[2].currency))
	}
}

// statements yields the rows to write, all of them.
func (p *posting) statements(d *dialect, yield func(*rows)) {
	yield(p.postings)
	created := insert("commission_states", stateColumns, "")
	changed, moved := replaceStates(d, slowColumns...), replaceStates(d)
	for _, s := range p.changed {
		to := changed
		if s.created {
			to = created
		} else if s.moved {
			to = moved
		}
		to.reserve(len(p.changed))
		to.add(s.values(p.number)...)
	}
	yield(created)
	yield(changed)
	yield(moved)
	balances := upsert("ledger_balances", balanceColumns, 4, addBalance)
	for k, amount := range p.balances {
		balances.add(k.month, k.account, k.ledgerAccount, k.currency, amount, p.spans[k.month].first, p.spans[k.month].last)
	}
	yield(balances)
	yield(p.dimensions.rows())
	yield(p.words.rows())
	p.sums.rows(d, &p.keys, p.counters.sequence, yield)
}

// write writes all of it. Rows are made ready while those before are written.
func (p *posting) write(ctx context.Context, s *session) (err error) {
	ready := make(chan *rows, 16)
	go func() {
		defer close(ready)
		p.statements(s.dialect, func(r *rows) { ready <- r })
	}()
	for r := range ready { // to the end, also after an error
		if err == nil {
			err = s.write(ctx, r)
		}
	}
	if err != nil {
		return err
	}
	c := &p.counters
	return s.exec(ctx, advanceCounters, c.sequence, c.order, c.transaction, c.dimension, c.word)
}
