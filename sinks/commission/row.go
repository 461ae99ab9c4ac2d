package commission

import (
	"database/sql"
	"slices"
	"time"
)

// observedLayout has a fixed width, so that the texts sort as the times do.
const observedLayout = "2006-01-02T15:04:05.000000Z"

func stamp(t time.Time) string { return t.UTC().Format(observedLayout) }

func parseStamp(s string) (time.Time, error) { return time.Parse(observedLayout, s) }

// stateColumns are those of commission_states, in the order of [state.values].
var stateColumns = join(
	numbers("id", "owner_id"), texts("order_sn"), numbers("dimension_id", "day", "charge_day", "approved_on", "version", "sequence"),
	texts("observed_at"), numbers("vanished", "program_name", "status", "currency", "order_amount", "commission",
		"estimated_currency", "estimated_amount", "estimated_commission",
		"ledger_account", "ledger_currency", "ledger_amount", "last_transaction", "closed_transaction"),
)

var keyColumns = join(numbers("owner_id"), texts("order_sn"))

// Columns of orders that never change, and those that hardly ever do: what is
// indexed and not named in a statement need not be written again.
var (
	firmColumns = []string{"id", "owner_id", "order_sn", "closed_transaction"}
	slowColumns = []string{"day", "dimension_id", "program_name", "estimated_currency", "estimated_amount", "estimated_commission"}
)

// replaceStates returns rows that replace what an event may change, of orders that
// are there; except are columns that stay.
func replaceStates(d *dialect, except ...string) *rows {
	var set []assignment
	for _, c := range stateColumns {
		if !slices.Contains(except, c.name) && !slices.Contains(firmColumns, c.name) {
			set = append(set, assignment{c.name, d.given + "." + c.name})
		}
	}
	return d.update("commission_states", stateColumns, 1, set)
}

// values are those of a row; number gives the numbers of words.
func (s *state) values(number func(string) int64) []any {
	return []any{
		s.id, s.dimensionIDs[byProgram], s.key.OrderSn, s.dimensionIDs[inFull], s.day, s.chargeDay, s.approvedOn, int64(s.version), int64(s.sequence),
		s.observed, s.vanished, number(s.programName), s.status, s.currency, s.counted.amount, s.counted.commission,
		number(s.estimated.currency), s.estimated.amount, s.estimated.commission,
		number(s.stands.account), number(s.stands.currency), s.stands.amount, s.lastTransaction, s.closedTransaction,
	}
}

// selectKnown reads what [scanKnown] takes of the orders whose keys are k.
const selectKnown = `
SELECT o.owner_id, o.order_sn, o.version, o.id, o.program_name, o.dimension_id, o.day, o.charge_day, o.approved_on,
	o.status, o.currency, o.order_amount, o.commission, o.estimated_currency, o.estimated_amount, o.estimated_commission,
	o.ledger_account, o.ledger_currency, o.ledger_amount, o.last_transaction, o.closed_transaction
FROM k JOIN commission_states o ON o.order_sn = k.order_sn AND o.owner_id = k.owner_id`

// scanKnown reads the part of a state that the next one goes on from; text gives
// the words of numbers.
func scanKnown(r *sql.Rows, text map[int64]string) (stateKey, *state, error) {
	var s state
	var k stateKey
	var version, name, estimated, account, standing int64
	err := r.Scan(&k.owner, &k.orderSn, &version, &s.id, &name, &s.dimensionIDs[inFull], &s.day, &s.chargeDay, &s.approvedOn,
		&s.status, &s.currency, &s.counted.amount, &s.counted.commission, &estimated, &s.estimated.amount, &s.estimated.commission,
		&account, &standing, &s.stands.amount, &s.lastTransaction, &s.closedTransaction)
	s.version, s.programName = uint64(version), text[name]
	s.counted.status, s.counted.currency, s.estimated.currency = text[s.status], text[s.currency], text[estimated]
	s.stands.account, s.stands.currency = text[account], text[standing]
	return k, &s, err
}
