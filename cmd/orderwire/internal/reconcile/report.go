package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/orderwire/orderwire/schema"
)

// What the books can be held against.
const (
	Ledger  = "ledger" // the books themselves, which is always done
	Log     = "log"
	Archive = "archive"
	Network = "network"
)

// Kinds of a [Difference]. Those of [Ledger] are the kinds of a
// [commission.Fault].
const (
	KindMissing    = "missing"    // the other side has the order, the books have not
	KindExtra      = "extra"      // only the books have the order
	KindVersion    = "version"    // another version of the order is the newest
	KindSequence   = "sequence"   // the same version stands elsewhere in the log
	KindStatus     = "status"     // as are the following: another value
	KindCurrency   = "currency"   //
	KindAmount     = "amount"     //
	KindCommission = "commission" //
	KindDay        = "day"        // of placement
	KindVanished   = "vanished"   // one side says that the network no longer knows the order
)

// Why the network may show an order otherwise than the books.
const (
	NotBooked = "not-booked" // the log has it, behind the books' position
	NotPolled = "not-polled" // it has changed at the network since the account was read
	Changing  = "changing"   // the log has had newer answers of the network each time it was asked
)

// Report is the result of a comparison, without its differences.
type Report struct {
	From    string `json:"from,omitzero"` // days of orders, both included
	To      string `json:"to,omitzero"`
	Account string `json:"account,omitzero"`
	// Position is the sequence of the log at which the books stand.
	Position uint64 `json:"position"`
	// Orders is the number of orders of the account in the books, of all days.
	Orders int64  `json:"orders"`
	Sides  []Side `json:"sides"`
	// Differences counts them, of all sides, and Explained the orders that the
	// network shows otherwise for a reason.
	Differences int64 `json:"differences_found"`
	Explained   int64 `json:"explained"`
}

// Side tells how one comparison went.
type Side struct {
	Against string `json:"against"`
	// UpTo is the last sequence that was compared; 0 for the network.
	UpTo uint64 `json:"up_to,omitzero"`
	// From and To are the days of orders that were compared, where they are other
	// ones than were asked for.
	From string `json:"from,omitzero"`
	To   string `json:"to,omitzero"`
	// Compared orders are those that follow, all but the last.
	Compared      int64 `json:"compared"`
	Agree         int64 `json:"agree"`
	Different     int64 `json:"different"`
	Explained     int64 `json:"explained"`
	NotComparable int64 `json:"not_comparable"`
	// Gaps are the sequences that could not be read.
	Gaps  []Gap    `json:"gaps,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Failure is why the comparison could not be made, or not to its end.
	Failure string `json:"failure,omitzero"`
	// Totals are of the orders that were compared, by account and currency.
	Totals []Total `json:"totals"`

	sums map[[2]string]*[3]figures
}

// Gap is a range of sequences, both included.
type Gap struct {
	From  uint64 `json:"from"`
	Until uint64 `json:"until"`
}

// Total is what the compared orders of an account and a currency add up to.
type Total struct {
	Account  string  `json:"account"`
	Currency string  `json:"currency"`
	Books    Figures `json:"books"`
	There    Figures `json:"there"`
	// Explained is the part of There less Books that comes of explained orders.
	Explained Figures `json:"explained"`
}

// Figures are sums of what orders count as.
type Figures struct {
	Orders      int64        `json:"orders"`
	OrderAmount schema.Money `json:"order_amount"` // in the currency, two decimals
	Commission  schema.Money `json:"commission"`
}

type figures struct{ orders, amount, commission int64 }

func (f figures) export() Figures {
	return Figures{f.orders, schema.MoneyFromCents(f.amount), schema.MoneyFromCents(f.commission)}
}

// Difference is an order on which the books and a side do not agree, or a fault of
// the books.
type Difference struct {
	Against string   `json:"against"`
	Kinds   []string `json:"kinds"`
	// Explained is NotBooked, NotPolled or Changing, "" for a real difference.
	Explained string `json:"explained,omitzero"`
	Account   string `json:"account"`
	ProgramID string `json:"program_id"`
	OrderSn   string `json:"order_sn"`
	Books     *View  `json:"books,omitempty"` // nil: not there
	There     *View  `json:"there,omitempty"` // nil: not there
	Note      string `json:"note,omitzero"`
}

// View is an order as one side has it.
type View struct {
	Version     uint64       `json:"version,omitzero"` // 0 for the network, as Sequence
	Sequence    uint64       `json:"sequence,omitzero"`
	ObservedAt  string       `json:"observed_at"` // when the network answered so, UTC
	Vanished    bool         `json:"vanished,omitzero"`
	Day         string       `json:"day"`
	Status      string       `json:"status"` // value of specification 3.1, or the network's own text
	Currency    string       `json:"currency"`
	OrderAmount schema.Money `json:"order_amount"`
	Commission  schema.Money `json:"commission"`
}

func viewOf(r *record) *View {
	if r == nil {
		return nil
	}
	sequence := r.Sequence
	if r.Version == 0 { // of the network; it only put the answers into their order
		sequence = 0
	}
	return &View{
		Version: r.Version, Sequence: sequence, ObservedAt: r.ObservedAt, Vanished: r.Vanished, Day: r.Day, Status: r.Status,
		Currency: r.Currency, OrderAmount: schema.MoneyFromCents(r.OrderAmount), Commission: schema.MoneyFromCents(r.Commission),
	}
}

// Places of the sums of a side.
const (
	inBooks = iota
	overThere
	byExplained
)

// sum adds an order up at a place, sign times.
func (s *Side) sum(r *record, place int, sign int64) {
	if r == nil {
		return
	}
	if s.sums == nil {
		s.sums = map[[2]string]*[3]figures{}
	}
	key := [2]string{r.Key.Account, r.Currency}
	if s.sums[key] == nil {
		s.sums[key] = new([3]figures)
	}
	f := &s.sums[key][place]
	f.orders, f.amount, f.commission = f.orders+sign, f.amount+sign*r.OrderAmount, f.commission+sign*r.Commission
}

// count takes in how a pair was judged.
func (s *Side) count(p *pair, v *verdict) {
	if v.incomparable {
		s.NotComparable++
		return
	}
	s.Compared++
	s.sum(p.books, inBooks, 1)
	s.sum(p.there, overThere, 1)
	switch {
	case v.explained != "":
		s.Explained++
		s.sum(p.books, byExplained, -1)
		s.sum(p.there, byExplained, 1)
	case v.kinds != nil:
		s.Different++
	default:
		s.Agree++
	}
}

// total fills the totals in.
func (s *Side) total() {
	s.Totals = []Total{}
	for _, key := range slices.SortedFunc(maps.Keys(s.sums), func(a, b [2]string) int {
		return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
	}) {
		f := s.sums[key]
		s.Totals = append(s.Totals, Total{key[0], key[1], f[inBooks].export(), f[overThere].export(), f[byExplained].export()})
	}
}
