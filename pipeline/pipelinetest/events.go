package pipelinetest

import (
	"fmt"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// Epoch is the observation time of the first version of test events.
var Epoch = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)

// Event makes version v of test order n of an account: created at version 1,
// a status change after it.
func Event(account string, n int, v uint64) schema.Event {
	t := schema.StatusChanged
	if v == 1 {
		t = schema.OrderCreated
	}
	status := schema.SettlementStatuses()[int(v)%4]
	return schema.NewEvent(t, schema.Data{
		Account: account, TimeZone: "Asia/Shanghai", Version: v, ObservedAt: Epoch.Add(time.Duration(v) * time.Minute),
		Order: schema.Order{
			ProgramID: schema.NewText("1042"), OrderSn: schema.NewText(fmt.Sprintf("SN-%06d", n)),
			WebsiteID: schema.NewText("7"), SubID: schema.NewText("spring"), OrderTime: schema.NewText("2026-10-31 23:59:58"),
			Currency: schema.NewText("CNY"), OrdersPrice: schema.MoneyFromCents(int64(1000 + n)), SiterCommission: schema.MoneyFromCents(123),
			Status: schema.NewText(status.Value()), Details: []schema.OrderLine{{ItemID: schema.NewText("1"), LbOrderStatus: schema.NewText("2")}},
		},
	})
}
