package report

import (
	"context"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
)

// Order is an order of a search, as the books hold it.
type Order struct {
	// Key names the order in /api/v1/orders/{key}; see [schema.OrderKey.String].
	Key         string       `json:"key"`
	Account     string       `json:"account"`
	ProgramID   string       `json:"program_id"`
	OrderSn     string       `json:"order_sn"`
	ProgramName string       `json:"program_name"`
	WebsiteID   string       `json:"website_id"`
	SubID       string       `json:"sub_id"`
	Day         string       `json:"day"`         // of placement, "" for none that can be read
	Status      string       `json:"status"`      // of specification 3.1, or the network's own text
	StatusName  string       `json:"status_name"` // "Unknown" for other texts
	Vanished    bool         `json:"vanished"`    // the network no longer knows it
	Currency    string       `json:"currency"`
	OrderAmount schema.Money `json:"order_amount"` // in Currency
	Commission  schema.Money `json:"commission"`   // that counts today, in Currency
	Version     uint64       `json:"version"`      // of the newest event
	Sequence    uint64       `json:"sequence"`     // of that in the log
	ObservedAt  string       `json:"observed_at"`  // when the network answered so, UTC, RFC 3339
}

// Orders searches the books, those that changed last first. It returns a row for each
// order of the page, and how many there are in all. The error is a
// [*commission.FilterError] or a [*commission.StoreError].
func Orders(ctx context.Context, books *commission.Reader, f commission.OrderFilter) (*Table, int64, error) {
	found, total, err := books.Orders(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	rows := make([]Order, len(found))
	for i := range found {
		o := &found[i]
		rows[i] = Order{
			Key: o.Key.String(), Account: o.Key.Account, ProgramID: o.Key.Program, OrderSn: o.Key.OrderSn, ProgramName: o.ProgramName,
			WebsiteID: o.WebsiteID, SubID: o.SubID, Day: o.Day, Status: o.Status, StatusName: o.StatusName, Vanished: o.Vanished,
			Currency: o.Currency, OrderAmount: o.OrderAmount, Commission: o.Commission,
			Version: o.Version, Sequence: o.Sequence, ObservedAt: o.ObservedAt,
		}
	}
	return tableOf(rows, func(o *Order) []string {
		vanished := "false"
		if o.Vanished {
			vanished = "true"
		}
		return []string{
			o.Key, o.Account, o.ProgramID, o.OrderSn, o.ProgramName, o.WebsiteID, o.SubID, o.Day, o.Status, o.StatusName, vanished,
			o.Currency, o.OrderAmount.String(), o.Commission.String(), number(o.Version), number(o.Sequence), o.ObservedAt,
		}
	}, "key", "account", "program_id", "order_sn", "program_name", "website_id", "sub_id", "day", "status", "status_name", "vanished",
		"currency", "order_amount", "commission", "version", "sequence", "observed_at"), total, nil
}
