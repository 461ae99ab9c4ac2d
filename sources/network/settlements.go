package network

import (
	"context"
	"database/sql"
	"strconv"
)

// settlementData is a change of an order's confirmed amounts. The amounts are
// decimal(16,4).
type settlementData struct {
	ID        string `json:"Id"` // of the change: it stays, and is never given to another one
	ProgramID string `json:"ProgramId"`
	OrderSn   string
	SubID     string `json:"SubId,omitempty"`
	WebsiteID string `json:"WebsiteId,omitempty"`

	ConfirmPriceOld string // 0.0000 for the first settlement
	ModifyPrice     string // ConfirmPrice less ConfirmPriceOld
	ConfirmPrice    string

	ConfirmSiterCommissionOld string
	ModifySiterCommission     string
	ConfirmSiterCommission    string

	ChargeCurrency string `json:",omitempty"`
	ChargeTime     string // of the change
}

const settlementQuery = `SELECT c.at, c.seq, o.program_id, o.order_sn, o.sub_id, o.website_id,
	c.price_before, c.price, c.commission_before, c.commission, c.charge_currency
	FROM settlement_changes c JOIN orders o ON o.id = c.order_id WHERE c.publisher_id = ? AND c.at BETWEEN ? AND ?`

// querySettlements answers orders.settlement.get: the changes of confirmed
// amounts in a time, the oldest first. An order may have several.
func (s *Service) querySettlements(ctx context.Context, by caller, f *form, b []byte) ([]byte, error) {
	from, to := f.requiredInteger("Stime"), f.requiredInteger("Etime")
	q := &selection{paging: parsePaging(f), query: settlementQuery, args: []any{by.publisher, from, to}, order: "1, 2"}
	q.equal("o.program_id", f.text("ProgramId"))
	q.equal("o.order_sn", f.text("OrderSn"))
	q.equal("o.sub_id", f.text("SubId"))
	if err := f.span(from, to); err != nil {
		return nil, err
	}
	return s.store.page(ctx, q, b, s.scanSettlement)
}

func (s *Service) scanSettlement(row scan) (any, error) {
	var d settlementData
	var seq int64
	var at sql.Null[int64]
	var priceOld, price, commissionOld, commission cents
	err := row(&at, &seq, &d.ProgramID, &d.OrderSn, &d.SubID, &d.WebsiteID, &priceOld, &price, &commissionOld, &commission, &d.ChargeCurrency)
	d.ID, d.ChargeTime = strconv.FormatInt(seq, 10), s.clockText(at)
	d.ConfirmPriceOld, d.ModifyPrice, d.ConfirmPrice = fourPlaces(priceOld), fourPlaces(price-priceOld), fourPlaces(price)
	d.ConfirmSiterCommissionOld, d.ModifySiterCommission, d.ConfirmSiterCommission =
		fourPlaces(commissionOld), fourPlaces(commission-commissionOld), fourPlaces(commission)
	return d, err
}

// fourPlaces writes an amount as decimal(16,4), as live networks do in
// settlement changes.
func fourPlaces(c cents) string { return c.decimal().StringFixed(4) }
