package network_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

const (
	marketKey     = "ads-market" // ADS_KEY of the market's brand
	marketProgram = "7001"
	marketTarget  = "https://www.market.example/kettles?id=1&ref=2"

	marketReport      = "svc.service.orders.post"
	marketSettlements = "svc.open-service.orders.settlement.get"
	marketPrograms    = "svc.open-service.programs.query.get"
	marketDetail      = "svc.open-service.programs.detail.get"
	marketMaterials   = "svc.open-service.materials.query.get"
	marketStatistics  = "svc.open-service.statistics.get"
)

// market is a service with a brand that has a program and a material, and with
// a click on a link to it.
type market struct {
	*fixture
	linkID, clickID string
}

// openMarket adds the brand.
func (f *fixture) openMarket() {
	f.tb.Helper()
	ctx := f.tb.Context()
	_, brand := f.svc.CreateBrand(ctx, "market", marketKey)
	_, program := f.svc.CreateProgram(ctx, network.Program{
		ID: marketProgram, Brand: "market", Name: "Market", Domains: []string{"market.example"},
		Description: "Kettles & more", Category: "home",
	}, network.Rate{Value: "5%"}, network.Rate{Category: "88", Value: "1.50"})
	_, material := f.svc.CreateMaterial(ctx, network.Material{
		Program: marketProgram, Kind: "banner", Title: "Kettles", Body: "https://img.example/k.png",
		Target: "https://www.market.example/", Width: 468, Height: 60, Starts: new(time.Unix(1, 0)),
	})
	if err := errors.Join(brand, program, material); err != nil {
		f.tb.Fatal(err)
	}
}

func startMarket(tb testing.TB) market {
	tb.Helper()
	m := market{fixture: start(tb, nil)}
	m.openMarket()
	a := m.call(linksPost, params{"Url": marketTarget, "WebsiteId": website, "SubId": "a/b&c"})
	_, rest, _ := strings.Cut(string(a.Data), `"LinkId":"`)
	m.linkID, _, _ = strings.Cut(rest, `"`)
	target, err := url.Parse(m.do(http.MethodGet, "/c/"+m.linkID, nil, "").header.Get("Location"))
	if err != nil {
		tb.Fatal(err)
	}
	if m.clickID = target.Query().Get("click_id"); m.clickID == "" {
		tb.Fatalf("link %s leads to %q, which has no click_id; the link was answered with %s", m.linkID, target, a.body)
	}
	return m
}

// brandCalls are calls with an ADS_KEY, in this order.
func (m market) brandCalls() []openapiCall {
	now := m.clock.unix.Load()
	report := params{
		"OrderId": "SN-1", "ProgramId": marketProgram, "ClickId": m.clickID, "TransactionTime": "2026-11-12T08:00:00+08:00",
		"Amount": "259.90", "IsNewCustomer": 1, "PromoCode": "AUTUMN", "Currency": "CNY",
		"ItemDetails": []any{
			params{"ItemId": "K-1", "ItemName": `Kettle "Dragon"`, "Quantity": 2, "Price": "129.95", "Status": "3"},
		},
	}
	later := params{"OrderID": "SN-1", "Status": 1}
	day := params{"Stime": now - 86400, "Etime": now}
	calls := []openapiCall{
		{"first", marketReport, report, true, network.StatusSuccess, `"Created":"1"`},
		{"again", marketReport, report, true, network.StatusSuccess, `"Created":"0"`},
		{"confirmed", marketReport, later, true, network.StatusSuccess, `"Status":"1"`},
		{"another amount", marketReport, later.and(params{"Amount": 200}), true, network.StatusSuccess, ""},
		{"other spelling, which differs", marketReport, later.and(params{"OrderId": "SN-2"}), true, network.StatusParameter, "OrderI"},
		{"first without a click", marketReport, params{"OrderId": "SN-2", "Amount": 1}, true, network.StatusParameter, "ClickId"},
		{"click of nobody", marketReport, report.and(params{"OrderId": "SN-2", "ClickId": "x"}), true, network.StatusClick, "ClickId"},
		{"program of another", marketReport, report.and(params{"ProgramId": "1"}), true, network.StatusNotFound, "ProgramId"},
		{"currency of others", marketReport, report.and(params{"OrderId": "SN-2", "Currency": "EUR"}), true, network.StatusNotAllowed, "Currency"},
		{"own orders", ordersQuery, day, true, network.StatusSuccess, `"OrderSn":"SN-1"`},
		{"own order", ordersDetail, params{"ProgramId": marketProgram, "OrderSn": "SN-1"}, true, network.StatusSuccess, `"ItemCount":"2"`},
		{"no such order", ordersDetail, params{"ProgramId": "1", "OrderSn": "SN-1"}, true, network.StatusNotFound, ""},
		{"own programs", marketPrograms, params{"Keyword": ""}, true, network.StatusSuccess, `"ProgramId":"7001"`},
		{"publisher's", linksPost, params{"Url": marketTarget, "WebsiteId": website, "Timestamp": now, "Sign": strings.Repeat("0", 32)}, true, network.StatusNoService, ""},
	}
	calls = append(calls, spoil(marketReport, report, params{
		"OrderId": nil, "Amount": "1.234", "TransactionTime": "yesterday", "Status": 7, "IsNewCustomer": "maybe", "PromoCode": strings.Repeat("x", 256),
	})...)
	calls = append(calls, spoil(ordersQuery, day, params{"Stime": nil, "PageSize": 201})...)
	calls = append(calls, spoil(ordersDetail, params{"ProgramId": "1", "OrderSn": "1"}, params{"OrderSn": nil})...)
	return append(calls, spoil(marketPrograms, params{}, params{"Page": 0})...)
}

// publisherCalls are calls with an App Key, after those of the brand.
func (m market) publisherCalls() []openapiCall {
	now, long, digits := m.clock.unix.Load(), strings.Repeat("x", 256), strings.Repeat("1", 17)
	day := params{"Stime": now - 86400, "Etime": now}
	two := params{"Stime": now - 2*86400}
	link := params{"Url": marketTarget, "WebsiteId": website}
	order := params{"ProgramId": marketProgram, "OrderSn": "SN-1"}
	const ok = network.StatusSuccess
	calls := []openapiCall{
		{"target", linksPost, link.and(params{"SubId": "x"}), true, ok, `"ProgramId":"7001"`},
		{"target of nobody", linksPost, link.and(params{"Url": "https://nobody.example/"}), true, network.StatusNotAllowed, "Url"},
		{"website of nobody", linksPost, link.and(params{"WebsiteId": "9"}), true, network.StatusNotFound, "WebsiteId"},
		{"a day", ordersQuery, day, true, ok, `"SubId":"a/b&c"`},
		{"numbers as text", ordersQuery, params{"Stime": "0", "Etime": "86400", "Page": "1", "PageSize": "200"}, true, ok, `"List":[]`},
		{"filters", ordersQuery, day.and(params{"Status": 1, "WebsiteId": 1026, "OrderField": "ChargeTime"}), true, ok, "SN-1"},
		{"empty filters", ordersQuery, day.and(params{"OrderField": "", "Status": "", "Page": ""}), true, ok, "SN-1"},
		{"two days", ordersQuery, day.and(two), true, network.StatusSpan, "Etime"},
		{"an order", ordersDetail, order, true, ok, fmt.Sprintf(`"LinkId":%q`, m.linkID)},
		{"no such order", ordersDetail, params{"ProgramId": 1, "OrderSn": "x"}, true, network.StatusNotFound, ""},
		{"a day", marketSettlements, day, true, ok, `"ConfirmPriceOld":"259.9000"`},
		{"filters", marketSettlements, day.and(order).and(params{"SubId": "a/b&c"}), true, ok, `"ModifyPrice":"-59.9000"`},
		{"two days", marketSettlements, day.and(two), true, network.StatusSpan, "Etime"},
		{"all", marketPrograms, params{}, true, ok, `"ProgramId":"7001"`},
		{"filters", marketPrograms, params{"Category": "home", "Keyword": "kettle", "Page": 1, "PageSize": 5}, true, ok, `"Total":1`},
		{"with rates", marketDetail, params{"ProgramId": 7001}, true, ok, `"CateId":"88"`},
		{"no such program", marketDetail, params{"ProgramId": "x"}, true, network.StatusNotFound, ""},
		{"all", marketMaterials, params{}, true, ok, `"Title":"Kettles"`},
		{"banners", marketMaterials, params{"Kind": "banner", "ProgramId": marketProgram}, true, ok, `"Width":"468"`},
		{"by day", marketStatistics, day, true, ok, `"Day":"2026-11-12"`},
		{"by everything", marketStatistics, day.and(params{"GroupBy": "Day,ProgramId,WebsiteId,SubId"}), true, ok, `"SubId":"a/b&c"`},
		{"days by name", marketStatistics, params{"Stime": "2026-11-12", "Etime": "2026-11-12", "GroupBy": "SubId"}, true, ok, `"Clicks":"1"`},
		{"two years", marketStatistics, params{"Stime": now - 2*366*86400, "Etime": now}, true, network.StatusSpan, "Etime"},
	}
	for service, with := range map[string]params{
		ordersQuery:       {"Stime": nil, "Etime": digits, "Page": 0, "PageSize": 201, "OrderField": "OrderDateTime", "Status": 3, "SubId": long},
		marketSettlements: {"Stime": nil, "Etime": "", "PageSize": 0, "OrderSn": long},
		marketStatistics:  {"Stime": nil, "Etime": "soon", "GroupBy": "Hour", "SubId": long},
	} {
		calls = append(calls, spoil(service, day, with)...)
	}
	calls = append(calls, spoil(ordersDetail, order, params{"ProgramId": nil, "OrderSn": ""})...)
	calls = append(calls, spoil(marketPrograms, params{}, params{"Page": "x", "Keyword": long})...)
	calls = append(calls, spoil(marketDetail, params{}, params{"ProgramId": nil})...)
	calls = append(calls, spoil(marketMaterials, params{}, params{"Kind": "poster", "PageSize": 201})...)
	return append(calls, spoil(linksPost, link, params{"Url": "/k", "WebsiteId": long})...)
}
