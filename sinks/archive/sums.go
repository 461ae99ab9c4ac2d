package archive

import (
	"maps"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
)

// Sums say what the events of one file come to, so that a reader's own count can
// be held against the manifest. A key "" stands for rows that have none.
type Sums struct {
	// Types counts events by type: "order.created".
	Types map[string]int64 `json:"types"`
	// Statuses counts events by the name of the settlement status. A status that
	// the specification does not know counts as none.
	Statuses map[string]int64 `json:"statuses"`
	// OrdersPrice and SiterCommission are the estimates, by the order's currency.
	OrdersPrice     Amounts `json:"orders_price"`
	SiterCommission Amounts `json:"siter_commission"`
	// ConfirmPrice and ConfirmSiterCommission are by the charge currency.
	ConfirmPrice           Amounts `json:"confirm_price"`
	ConfirmSiterCommission Amounts `json:"confirm_siter_commission"`
}

// Amounts are sums by currency, decimal texts with two places: {"CNY":"12.50"}.
// A currency in which no row has an amount is left out.
type Amounts map[string]string

// newAmounts takes hundredths.
func newAmounts(cents map[string]int64) Amounts {
	amounts := make(Amounts, len(cents))
	for currency, n := range cents {
		amounts[currency] = decimal.New(n, -schema.MoneyScale).StringFixed(schema.MoneyScale)
	}
	return amounts
}

// addSums adds up the sums of some files; nil when one of them has none.
func addSums(files []File) *Sums {
	total := &Sums{
		Types: map[string]int64{}, Statuses: map[string]int64{},
		OrdersPrice: Amounts{}, SiterCommission: Amounts{}, ConfirmPrice: Amounts{}, ConfirmSiterCommission: Amounts{},
	}
	for i := range files {
		s := files[i].Sums
		if s == nil {
			return nil
		}
		for key, n := range s.Types {
			total.Types[key] += n
		}
		for key, n := range s.Statuses {
			total.Statuses[key] += n
		}
		if total.OrdersPrice.add(s.OrdersPrice) != nil || total.SiterCommission.add(s.SiterCommission) != nil ||
			total.ConfirmPrice.add(s.ConfirmPrice) != nil || total.ConfirmSiterCommission.add(s.ConfirmSiterCommission) != nil {
			return nil
		}
	}
	return total
}

// add adds other amounts to these. The error is for a text that is no amount.
func (a Amounts) add(other Amounts) error {
	for currency, text := range other {
		n, err := decimal.NewFromString(text)
		if err != nil {
			return err
		}
		sum := decimal.Zero
		if was, there := a[currency]; there {
			if sum, err = decimal.NewFromString(was); err != nil {
				return err
			}
		}
		a[currency] = sum.Add(n).StringFixed(schema.MoneyScale)
	}
	return nil
}

// differ names the first of the sums that is not alike, "" when all are.
func (s *Sums) differ(other *Sums) string {
	switch {
	case !maps.Equal(s.Types, other.Types):
		return "types"
	case !maps.Equal(s.Statuses, other.Statuses):
		return "statuses"
	case !maps.Equal(s.OrdersPrice, other.OrdersPrice):
		return "orders_price"
	case !maps.Equal(s.SiterCommission, other.SiterCommission):
		return "siter_commission"
	case !maps.Equal(s.ConfirmPrice, other.ConfirmPrice):
		return "confirm_price"
	case !maps.Equal(s.ConfirmSiterCommission, other.ConfirmSiterCommission):
		return "confirm_siter_commission"
	}
	return ""
}

// sums adds up some rows of the buffer.
func (b *buffer) sums(rows []uint32) *Sums {
	amounts := func(field, currency string) Amounts {
		return newAmounts(b.column(currency).group(rows, b.column(field)))
	}
	return &Sums{
		Types:                  b.column("event_type").group(rows, nil),
		Statuses:               b.column("status_name").group(rows, nil),
		OrdersPrice:            amounts("orders_price", "currency"),
		SiterCommission:        amounts("siter_commission", "currency"),
		ConfirmPrice:           amounts("confirm_price", "charge_currency"),
		ConfirmSiterCommission: amounts("confirm_siter_commission", "charge_currency"),
	}
}

// group adds a column of numbers up by the texts of this one, which has a
// dictionary; null numbers count nothing. Without a column it counts rows.
func (c *column) group(rows []uint32, of *column) map[string]int64 {
	none := c.texts.Len()
	sums, seen := make([]int64, none+1), make([]bool, none+1)
	for _, row := range rows {
		n := int64(1)
		if of != nil {
			if of.absent[row] {
				continue
			}
			n = of.numbers[row]
		}
		place := none
		if !c.absent[row] {
			place = int(c.numbers[row])
		}
		sums[place] += n
		seen[place] = true
	}
	groups := map[string]int64{}
	for place, n := range sums {
		switch {
		case !seen[place]:
		case place == none:
			groups[""] += n
		default:
			groups[string(c.texts.At(place))] += n
		}
	}
	return groups
}

// tally adds rows up as they are read from a file.
type tally struct {
	rows            int64
	first, last     uint64
	types, statuses map[string]int64
	amounts         [4]map[string]int64 // in the order of Sums
}

func newTally() *tally {
	t := &tally{types: map[string]int64{}, statuses: map[string]int64{}}
	for i := range t.amounts {
		t.amounts[i] = map[string]int64{}
	}
	return t
}

func (t *tally) add(r *Row) {
	sequence := uint64(r.Sequence)
	if t.rows == 0 {
		t.first, t.last = sequence, sequence
	}
	t.rows++
	t.first, t.last = min(t.first, sequence), max(t.last, sequence)
	t.types[r.EventType]++
	t.statuses[orEmpty(r.StatusName)]++
	for i, cents := range [...]*int64{r.OrdersPrice, r.SiterCommission, r.ConfirmPrice, r.ConfirmSiterCommission} {
		if cents == nil {
			continue
		}
		currency := r.Currency
		if i >= 2 {
			currency = r.ChargeCurrency
		}
		t.amounts[i][orEmpty(currency)] += *cents
	}
}

func (t *tally) sums() *Sums {
	return &Sums{
		Types: t.types, Statuses: t.statuses,
		OrdersPrice: newAmounts(t.amounts[0]), SiterCommission: newAmounts(t.amounts[1]),
		ConfirmPrice: newAmounts(t.amounts[2]), ConfirmSiterCommission: newAmounts(t.amounts[3]),
	}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
