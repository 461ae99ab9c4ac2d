package duckdbtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
)

// zones are the accounts of the test log with the zones of their times.
var zones = map[string]string{"main": "Asia/Shanghai", "second shop": "America/New_York", "店铺=1": "Asia/Shanghai"}

var accounts = []string{"main", "second shop", "店铺=1"}

// orders is how many orders the test log has; order n has 1 + n%3 versions.
const orders = 420

// observations lie around midnight, in UTC and in Shanghai (16:00 in UTC).
var observations = []time.Time{
	time.Date(2026, 10, 31, 15, 59, 59, 999_999_000, time.UTC),
	time.Date(2026, 10, 31, 16, 0, 0, 0, time.UTC),
	time.Date(2026, 10, 31, 23, 59, 59, 999_999_000, time.UTC),
	time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
	time.Date(2026, 11, 1, 4, 30, 0, 1000, time.UTC),
}

// testEvent makes version v of order n. Each field goes through its own cycle
// of values, so that many combinations come up.
func testEvent(tb testing.TB, n, v int) schema.Event {
	tb.Helper()
	account := accounts[n%3]
	kind := []schema.EventType{schema.OrderCreated, schema.StatusChanged, schema.OrderUpdated}[v-1]
	d := schema.Data{
		Account: account, TimeZone: zones[account], Version: uint64(v), ObservedAt: observations[(n+v)%5],
		Regression: v == 3 && n%4 == 0, Order: testOrder(tb, n, v),
	}
	if v > 1 {
		d.Changes = []schema.Change{
			{Path: "/Status", From: jsontext.Value(fmt.Sprintf(`"%d"`, n%4-1)), To: jsontext.Value(`"2"`)},
			{Path: "/SubId", To: jsontext.Value(`"春"`)},
		}
	}
	return schema.NewEvent(kind, d)
}

func testOrder(tb testing.TB, n, v int) schema.Order {
	tb.Helper()
	o := schema.Order{
		ProgramID: pick(n, "1041", "1042", "1043", "1044"), ProgramName: pick(n, "Kettles", "茶壶 与 杯", "", "-"),
		OrderSn: schema.NewText(fmt.Sprintf("SN%04d", n)), SubID: pick(n+v, "spring", "", "-", "双十一", "秋"),
		OrderTime: pick(n, "2026-10-31 23:59:59", "2026-11-01 00:00:00", "2026-11-02 00:00:01", "soon", "-"),
		Currency:  pick(n+v, "CNY", "USD", "-"), Status: pick(n+v, "-1", "0", "1", "2", "77", "-"),
		OrdersPrice:     money(tb, n, fmt.Sprintf("%d.%02d", 10+n, n%100), "12.5", "", "-", "99999999.99", "0.00"),
		SiterCommission: money(tb, n+v, fmt.Sprintf("%d.07", n), "-0.01", "-"), ChargeCurrency: pick(v, "USD", "-"),
		ConfirmPrice: money(tb, v, fmt.Sprintf("%d.10", n), "-"), ChargeTime: pick(n, "2026-11-03 12:00:00", "-"),
	}
	switch n % 4 { // 0: the network sent no Details
	case 1:
		o.Details = []schema.OrderLine{}
	case 2, 3:
		for i := range n%4 - 1 {
			o.Details = append(o.Details, testLine(tb, n, i))
		}
	}
	if n%5 == 0 {
		o.Extra = jsontext.Value(fmt.Sprintf(`{"Coupon":"折扣 %d","Nested":{"deep":[1,"二"]}}`, n%7))
	}
	return o
}

func testLine(tb testing.TB, n, i int) schema.OrderLine {
	tb.Helper()
	return schema.OrderLine{
		ItemName: pick(n+i, "Kettle", "杯子 \"大\"", "", "-"), LbOrderStatus: pick(n+i, "2", "21", "-1", "4711", "-"),
		OrdersPrice: money(tb, n+i, fmt.Sprintf("%d.25", n), "-"), ItemCount: schema.NewText("1"),
	}
}

// pick takes one of the values, "-" for a field that is absent.
func pick(n int, values ...string) schema.Text {
	if v := values[n%len(values)]; v != "-" {
		return schema.NewText(v)
	}
	return schema.Text{}
}

// money is pick for amounts.
func money(tb testing.TB, n int, values ...string) schema.Money {
	tb.Helper()
	v := values[n%len(values)]
	if v == "-" {
		return schema.Money{}
	}
	m, err := schema.ParseMoney(v)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}
