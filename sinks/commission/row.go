package commission

import (
	"database/sql"
	"slices"
	"strings"
	"time"
)

// observedLayout has a fixed width, so that the texts sort as the times do.
const observedLayout = "2006-01-02T15:04:05.000000Z"

func stamp(t time.Time) string { return t.UTC().Format(observedLayout) }

func parseStamp(s string) (time.Time, error) { return time.Parse(observedLayout, s) }

// orderColumns are those of commission_orders, in the order of [state.values].
var orderColumns = join(
	keyColumns, numbers("version", "sequence"), texts("observed_at"), numbers("vanished"),
	texts("program_name", "website_id", "link_id", "sub_id", "day", "charge_day", "status", "currency"), numbers("order_amount", "commission"),
	texts("estimated_currency"), numbers("estimated_amount", "estimated_commission"),
	texts("confirmed_currency"), numbers("confirmed_amount", "confirmed_commission", "id"),
	texts("approved_on", "ledger_account", "ledger_currency"), numbers("ledger_amount", "last_transaction", "closed_transaction", "dimension_id"),
)

var keyColumns = texts("account", "program_id", "order_sn")

// upsertOrder replaces all that an event may change but the day, which hardly
// ever changes: what is indexed and not named need not be written again.
// upsertRedated replaces the day as well. An id stays.
var upsertOrder, upsertRedated = upsert("id", "day"), upsert("id")

func upsert(except ...string) string {
	var set []string
	for _, c := range orderColumns[len(keyColumns):] {
		if !slices.Contains(except, c.name) {
			set = append(set, c.name+" = excluded."+c.name)
		}
	}
	return " ON CONFLICT (account, program_id, order_sn) DO UPDATE SET " + strings.Join(set, ", ")
}

func (s *state) values() []any {
	return []any{
		s.key.Account, s.key.Program, s.key.OrderSn, int64(s.version), int64(s.sequence), stamp(s.observedAt), s.vanished,
		s.programName, s.websiteID, s.linkID, s.subID, s.day, s.chargeDay,
		s.counted.status, s.counted.currency, s.counted.amount, s.counted.commission,
		s.estimated.currency, s.estimated.amount, s.estimated.commission,
		s.confirmed.currency, s.confirmed.amount, s.confirmed.commission, s.id,
		s.approvedOn, s.stands.account, s.stands.currency, s.stands.amount, s.lastTransaction, s.closedTransaction, s.dimensionIDs[inFull],
	}
}

// selectKnown reads what [scanKnown] takes of the orders whose keys are k.
const selectKnown = `
SELECT o.account, o.program_id, o.order_sn, o.version, o.id, o.website_id, o.sub_id, o.link_id, o.day, o.charge_day, o.approved_on,
	o.status, o.currency, o.order_amount, o.commission, o.estimated_currency, o.estimated_amount, o.estimated_commission,
	o.ledger_account, o.ledger_currency, o.ledger_amount, o.last_transaction, o.closed_transaction
FROM k JOIN commission_orders o ON o.account = k.account AND o.program_id = k.program_id AND o.order_sn = k.order_sn`

// scanKnown reads the part of a state that the next one goes on from.
func scanKnown(r *sql.Rows) (*state, error) {
	var s state
	var version int64
	err := r.Scan(&s.key.Account, &s.key.Program, &s.key.OrderSn, &version, &s.id, &s.websiteID, &s.subID, &s.linkID, &s.day, &s.chargeDay, &s.approvedOn,
		&s.counted.status, &s.counted.currency, &s.counted.amount, &s.counted.commission,
		&s.estimated.currency, &s.estimated.amount, &s.estimated.commission,
		&s.stands.account, &s.stands.currency, &s.stands.amount, &s.lastTransaction, &s.closedTransaction)
	s.version = uint64(version)
	return &s, err
}
