package commission

import (
	"fmt"

	"github.com/orderwire/orderwire/schema"
)

// The accounts of the ledger. What is expected from the network is positive.
const (
	Estimated  = "estimated"  // commission of pending orders
	Confirmed  = "confirmed"  // of confirmed ones
	Approved   = "approved"   // of approved ones
	Reversed   = "reversed"   // what was lost: positive
	Earnings   = "earnings"   // against the first recognition of an order
	Adjustment = "adjustment" // against later changes of amount
	Conversion = "conversion" // against a change of currency, in both currencies
)

// Kinds of transactions.
const (
	KindOpening    = "opening"    // taken over from books of version 1
	KindRecognised = "recognised" // the first that an order earns
	KindAdjusted   = "adjusted"   // another amount, the same status
	KindMoved      = "moved"      // another status, the same currency
	KindConverted  = "converted"  // another currency
	KindReversed   = "reversed"   // lost
	KindRestored   = "restored"   // back from being lost
)

// standing is what the ledger holds of an order: amount in one of the accounts
// Estimated, Confirmed, Approved and Reversed. The zero standing: nothing yet.
type standing struct {
	account  string
	currency string
	amount   int64 // hundredths
}

// posted is one line of a transaction.
type posted struct {
	account  string
	currency string
	amount   int64
}

// expected returns the account for a settlement status, "" for those that earn
// nothing.
func expected(status string) string {
	switch status {
	case schema.Pending.Value():
		return Estimated
	case schema.Confirmed.Value():
		return Confirmed
	case schema.Approved.Value():
		return Approved
	default:
		return ""
	}
}

// move returns where an order stands after it counts as c, the kind of the
// transaction, and its lines without those of amount 0; no lines: there is
// nothing to post.
func move(from standing, c counted) (to standing, kind string, lines []posted) {
	to = standing{expected(c.status), c.currency, c.commission}
	switch {
	case to.account == "" && (from.account == "" || from.account == Reversed):
		return from, "", nil
	case to.account == "":
		to = standing{Reversed, from.currency, from.amount}
		kind = KindReversed
	case from.account == "":
		return to, KindRecognised, nonZero(posted(to), posted{Earnings, to.currency, -to.amount})
	case from.account == Reversed:
		kind = KindRestored
	case from.currency != to.currency:
		kind = KindConverted
	case from.account != to.account:
		kind = KindMoved
	default:
		kind = KindAdjusted
	}
	if from.currency != to.currency {
		return to, kind, nonZero(
			posted{from.account, from.currency, -from.amount}, posted{Conversion, from.currency, from.amount},
			posted(to), posted{Conversion, to.currency, -to.amount})
	}
	difference := to.amount - from.amount
	if from.account == to.account {
		return to, kind, nonZero(posted{to.account, to.currency, difference}, posted{Adjustment, to.currency, -difference})
	}
	return to, kind, nonZero(posted{from.account, from.currency, -from.amount}, posted(to),
		posted{Adjustment, to.currency, -difference})
}

func nonZero(lines ...posted) []posted {
	kept := lines[:0]
	for _, l := range lines {
		if l.amount != 0 {
			kept = append(kept, l)
		}
	}
	return kept
}

// balanced is the last look at a transaction before it is written: its lines
// add up to 0 in each currency.
func balanced(lines []posted) error {
	for i := range lines {
		var sum int64
		for j := range lines {
			if lines[j].currency == lines[i].currency {
				sum += lines[j].amount
			}
		}
		if sum != 0 {
			return fmt.Errorf("%w: %d hundredths are left over", ErrUnbalanced, sum)
		}
	}
	return nil
}
