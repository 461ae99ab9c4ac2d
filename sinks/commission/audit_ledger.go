package commission

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"github.com/orderwire/orderwire/schema"
)

// Kinds of a [Fault].
const (
	FaultEntries    = "entries"    // an order's entries do not leave it where it stands
	FaultStanding   = "standing"   // it does not stand where its status and commission put it
	FaultUnbalanced = "unbalanced" // the lines of a transaction do not add up to 0
	FaultSums       = "sums"       // a sum by the day of orders is not that of the orders
	FaultBalance    = "balance"    // a balance of a month is not that of its entries
	FaultOrphans    = "orphans"    // the ledger holds transactions or entries of nothing
)

// Fault is a place where the books contradict themselves.
type Fault struct {
	Kind string
	// Key is the order; of a sum or a balance only account and program, which may
	// be "" too.
	Key  schema.OrderKey
	Day  string // of the order or the sum, "" otherwise
	What string // in words, with the amounts
}

// Faults holds the books against themselves: the entries of each order against
// where it stands and what it counts as, each transaction, the sums by the days of
// orders by program, and the balances of the months. An account "" means all. They come in
// the order of these checks. The error is a [*StoreError], and the last that comes.
func (a *Audit) Faults(ctx context.Context, account string) iter.Seq2[Fault, error] {
	return func(yield func(Fault, error) bool) {
		for _, check := range []iter.Seq2[Fault, error]{a.orderFaults(ctx, account), a.sumFaults(ctx, account), a.balanceFaults(ctx, account), a.orphans(ctx)} {
			for f, err := range check {
				if !yield(f, err) || err != nil {
					return
				}
			}
		}
	}
}

const (
	selectOrderEntries = `
SELECT o.id, o.account, o.program_id, o.order_sn, o.day, o.status, o.currency, o.commission, o.ledger_account, o.ledger_currency, o.ledger_amount,
	COALESCE(t.id, 0), COALESCE(e.ledger_account, ''), COALESCE(e.currency, ''), COALESCE(e.amount, 0)
FROM commission_orders o LEFT JOIN ledger_transactions t ON t.order_id = o.id LEFT JOIN ledger_entries e ON e.transaction_id = t.id`
	orderEntriesAccount = " WHERE o.account = ?"
	inOrder             = " ORDER BY o.id, t.id"

	// 4: by the day of the order, for account and program alone.
	selectWrongSums = `
SELECT x.account, x.program_id, x.day, x.currency, x.status, CAST(SUM(x.orders) AS BIGINT), CAST(SUM(x.amount) AS BIGINT), CAST(SUM(x.commission) AS BIGINT)
FROM (SELECT d.account, d.program_id, s.day, s.currency, s.status, s.orders, s.order_amount AS amount, s.commission
	FROM commission_sums s JOIN commission_dimensions d ON d.id = s.dimension_id WHERE s.kind = 4
	UNION ALL SELECT account, program_id, day, currency, status, -1, -order_amount, -commission FROM commission_orders) AS x`
	wrongSumsAccount = " WHERE x.account = ?"
	wrongSumsEnd     = `
GROUP BY x.account, x.program_id, x.day, x.currency, x.status HAVING SUM(x.orders) <> 0 OR SUM(x.amount) <> 0 OR SUM(x.commission) <> 0
ORDER BY x.account, x.program_id, x.day, x.currency, x.status`

	selectWrongBalances = `
SELECT x.account, x.month, x.ledger_account, x.currency, CAST(SUM(x.amount) AS BIGINT)
FROM (SELECT account, month, ledger_account, currency, amount FROM ledger_balances
	UNION ALL SELECT o.account, t.month, e.ledger_account, e.currency, -e.amount FROM ledger_entries e
	JOIN ledger_transactions t ON t.id = e.transaction_id JOIN commission_orders o ON o.id = t.order_id) AS x`
	wrongBalancesAccount = " WHERE x.account = ?"
	wrongBalancesEnd     = `
GROUP BY x.account, x.month, x.ledger_account, x.currency HAVING SUM(x.amount) <> 0
ORDER BY x.account, x.month, x.ledger_account, x.currency`

	selectOrphans = `
SELECT (SELECT COUNT(*) FROM ledger_transactions t LEFT JOIN commission_orders o ON o.id = t.order_id WHERE o.id IS NULL),
	(SELECT COUNT(*) FROM ledger_entries e LEFT JOIN ledger_transactions t ON t.id = e.transaction_id WHERE t.id IS NULL)`
)

// entryRow is an order with one line of one of its transactions; of an order
// without, the last four fields are empty.
type entryRow struct {
	id          int64
	key         schema.OrderKey
	day         string
	counts      counted
	stands      standing
	transaction int64
	line        posted
}

func scanEntry(rows *sql.Rows) (r entryRow, err error) {
	err = rows.Scan(&r.id, &r.key.Account, &r.key.Program, &r.key.OrderSn, &r.day, &r.counts.status, &r.counts.currency, &r.counts.commission,
		&r.stands.account, &r.stands.currency, &r.stands.amount, &r.transaction, &r.line.account, &r.line.currency, &r.line.amount)
	return r, err
}

// orderFaults looks at each order and its transactions.
func (a *Audit) orderFaults(ctx context.Context, account string) iter.Seq2[Fault, error] {
	query, args := a.only(selectOrderEntries, orderEntriesAccount, account)
	return func(yield func(Fault, error) bool) {
		var o *auditedLedger
		for r, err := range streamed(ctx, a, scanEntry, query+inOrder, args...) {
			if err != nil {
				yield(Fault{}, err)
				return
			}
			if o != nil && o.id != r.id && !o.end(yield) {
				return
			}
			if o == nil || o.id != r.id {
				o = &auditedLedger{entryRow: r, holds: map[posted]int64{}}
			}
			o.add(r)
		}
		if o != nil {
			o.end(yield)
		}
	}
}

// auditedLedger is what the ledger holds of an order.
type auditedLedger struct {
	entryRow                  // the order's first
	holds    map[posted]int64 // by account and currency, without those that balance others
	lines    []posted         // of the transaction under way
	under    int64            // its number
	wrong    []Fault
}

func (o *auditedLedger) add(r entryRow) {
	if r.transaction != o.under {
		o.balance()
		o.under = r.transaction
	}
	if r.line.account == "" {
		return
	}
	o.lines = append(o.lines, r.line)
	switch r.line.account {
	case Estimated, Confirmed, Approved, Reversed:
		o.holds[posted{account: r.line.account, currency: r.line.currency}] += r.line.amount
	}
}

// balance looks at the transaction that has ended.
func (o *auditedLedger) balance() {
	if err := balanced(o.lines); err != nil {
		o.fault(FaultUnbalanced, fmt.Sprintf("transaction %d: %v", o.under, err))
	}
	o.lines = o.lines[:0]
}

// end looks at the order, and hands over what is wrong. It returns false when no
// more is wanted.
func (o *auditedLedger) end(yield func(Fault, error) bool) bool {
	o.balance()
	at := posted{account: o.stands.account, currency: o.stands.currency}
	if got := o.holds[at]; got != o.stands.amount {
		o.fault(FaultEntries, fmt.Sprintf("the order stands with %s, and its entries add up to %s", o.stands.text(), standing{at.account, at.currency, got}.text()))
	}
	delete(o.holds, at)
	for rest, amount := range o.holds {
		if amount != 0 {
			o.fault(FaultEntries, fmt.Sprintf("the order stands with %s, and its entries leave %s too", o.stands.text(), standing{rest.account, rest.currency, amount}.text()))
		}
	}
	switch want := (standing{expected(o.counts.status), o.counts.currency, o.counts.commission}); {
	case want.account != "" && o.stands != want:
		o.fault(FaultStanding, fmt.Sprintf("the order counts as %s, and stands with %s", want.text(), o.stands.text()))
	case want.account == "" && o.stands.account != "" && o.stands.account != Reversed:
		o.fault(FaultStanding, fmt.Sprintf("the order earns nothing, and stands with %s", o.stands.text()))
	case want.account == "" && want.amount != 0:
		o.fault(FaultStanding, fmt.Sprintf("the order earns nothing by its status, and counts with %s %s", want.currency, schema.MoneyFromCents(want.amount)))
	}
	for _, f := range o.wrong {
		if !yield(f, nil) {
			return false
		}
	}
	return true
}

func (o *auditedLedger) fault(kind, what string) {
	o.wrong = append(o.wrong, Fault{Kind: kind, Key: o.key, Day: o.day, What: what})
}

// text says where an order stands.
func (s standing) text() string {
	switch {
	case s.account == "" && s.amount == 0:
		return "nothing"
	case s.account == "":
		return schema.MoneyFromCents(s.amount).String() + " in no account"
	}
	return fmt.Sprintf("%s %s in %s", s.currency, schema.MoneyFromCents(s.amount), s.account)
}

// sumFaults adds the orders up anew.
func (a *Audit) sumFaults(ctx context.Context, account string) iter.Seq2[Fault, error] {
	query, args := a.only(selectWrongSums, wrongSumsAccount, account)
	return streamed(ctx, a, func(rows *sql.Rows) (Fault, error) {
		f := Fault{Kind: FaultSums}
		var currency, status string
		var orders, amount, commission int64
		err := rows.Scan(&f.Key.Account, &f.Key.Program, &f.Day, &currency, &status, &orders, &amount, &commission)
		f.What = fmt.Sprintf("the sum of status %s in %s is off by %d orders, amount %s, commission %s against the orders",
			status, currency, orders, schema.MoneyFromCents(amount), schema.MoneyFromCents(commission))
		return f, err
	}, query+wrongSumsEnd, args...)
}

// balanceFaults adds the entries up anew.
func (a *Audit) balanceFaults(ctx context.Context, account string) iter.Seq2[Fault, error] {
	query, args := a.only(selectWrongBalances, wrongBalancesAccount, account)
	return streamed(ctx, a, func(rows *sql.Rows) (Fault, error) {
		f := Fault{Kind: FaultBalance}
		var month, ledgerAccount, currency string
		var amount int64
		err := rows.Scan(&f.Key.Account, &month, &ledgerAccount, &currency, &amount)
		f.What = fmt.Sprintf("the balance of %s in %s, month %s, is off by %s against the entries", ledgerAccount, currency, month, schema.MoneyFromCents(amount))
		return f, err
	}, query+wrongBalancesEnd, args...)
}

// orphans counts what belongs to nothing, of all accounts.
func (a *Audit) orphans(ctx context.Context) iter.Seq2[Fault, error] {
	return func(yield func(Fault, error) bool) {
		var transactions, entries int64
		if err := a.tx.QueryRowContext(ctx, selectOrphans).Scan(&transactions, &entries); err != nil {
			yield(Fault{}, a.reader.fail("audit", err))
			return
		}
		if transactions+entries > 0 {
			yield(Fault{Kind: FaultOrphans, What: fmt.Sprintf("the ledger holds %d transactions of no order and %d entries of no transaction", transactions, entries)}, nil)
		}
	}
}
