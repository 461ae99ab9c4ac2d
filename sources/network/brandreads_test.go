package network_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

// twoBrands has a brand with two programs and a rival with one. Program 5001
// gets so many orders in a row of minutes, the others get one each.
func twoBrands(t *testing.T, orders int) *fixture {
	t.Helper()
	f := startBrand(t)
	f.brand("Rival", "ADS-2")
	f.putProgram(network.TestProgram{ID: "5002", Brand: brand, Domains: []string{"second.example"}})
	f.putProgram(network.TestProgram{ID: "6001", Brand: "Rival", Domains: []string{"rival.example"}})
	report := func(key, program, target string, n int) {
		f.clock.advance(time.Minute)
		click := f.click("/c/" + f.link(params{"Url": target, "WebsiteId": website}).LinkId)
		p := f.first(fmt.Sprintf("%s-%d", program, n), params{"ProgramId": program, "ClickId": click})
		if a := f.ads(key, ordersPost, p); a.Status != network.StatusSuccess {
			t.Fatalf("Status %d: %s", a.Status, a.Message)
		}
	}
	for n := range orders {
		report(adsKey, shop, shopURL, n)
	}
	report(adsKey, "5002", "https://second.example", 0)
	report("ADS-2", "6001", "https://rival.example", 0)
	return f
}

// numbers are the order numbers of a page.
func (p page) numbers(t *testing.T) string {
	var all []string
	for _, raw := range p.List {
		all = append(all, parse(t, raw).OrderSn.String())
	}
	return strings.Join(all, " ")
}

// A brand reads the orders of all its programs and no others, by the
// parameters of the publisher's list.
func TestBrandReadsItsOrders(t *testing.T) {
	f := twoBrands(t, 4)
	f.simulator(network.SimulatorConfig{Seed: 1}, 30)
	window := func(more params) params {
		p := params{"Stime": epoch.Unix(), "Etime": epoch.Unix() + 3600}
		for key, value := range more {
			p[key] = value
		}
		return p
	}
	for _, tt := range []struct {
		key   string
		p     params
		total int64
		want  string
	}{
		{adsKey, nil, 5, "5001-0 5001-1 5001-2 5001-3 5002-0"},
		{adsKey, params{"PageSize": 2, "Page": 2}, 5, "5001-2 5001-3"},
		{adsKey, params{"PageSize": 2, "Page": "9999999999999999"}, 5, ""},
		{adsKey, params{"ProgramId": "5002", "OrderField": "OrderDatatime"}, 1, "5002-0"},
		{adsKey, params{"ProgramId": "6001"}, 0, ""},
		{adsKey, params{"Status": 1}, 0, ""},
		{adsKey, params{"Etime": epoch.Unix() + 120}, 2, "5001-0 5001-1"},
		{"ADS-2", nil, 1, "6001-0"},
	} {
		got := decode[page](t, f.ads(tt.key, ordersQuery, window(tt.p)))
		if got.Total != tt.total || got.numbers(t) != tt.want {
			t.Errorf("%s %v: %s of %d, want %s of %d", tt.key, tt.p, got.numbers(t), got.Total, tt.want, tt.total)
		}
	}
	for _, tt := range []struct {
		key    string
		p      params
		status network.Status
	}{
		{adsKey, params{"ProgramId": "5002", "OrderSn": "5002-0"}, network.StatusSuccess},
		{adsKey, params{"ProgramId": "6001", "OrderSn": "6001-0"}, network.StatusNotFound},
		{"ADS-2", params{"ProgramId": "5002", "OrderSn": "5002-0"}, network.StatusNotFound},
		{adsKey, params{"ProgramId": "5002"}, network.StatusParameter},
	} {
		if a := f.ads(tt.key, ordersDetail, tt.p); a.Status != tt.status {
			t.Errorf("%s %v: Status %d: %s", tt.key, tt.p, a.Status, a.Message)
		}
	}
	if a := f.ads(adsKey, ordersQuery, params{"Stime": 1, "Etime": 100_000}); a.Status != network.StatusSpan {
		t.Errorf("more than a day: Status %d: %s", a.Status, a.Message)
	}
}

func TestBrandReadsItsPrograms(t *testing.T) {
	f := startBrand(t)
	f.brand("Rival", "ADS-2")
	f.brand("Nobody", "ADS-3")
	f.putProgram(network.TestProgram{ID: "480", Brand: brand, Status: "closed", Currency: "USD", ChargeCurrency: "CNY", ClickDays: 7})
	f.putProgram(network.TestProgram{ID: "5003", Brand: brand, Domains: []string{"b.example", "a.example"}})
	f.putProgram(network.TestProgram{ID: "6001", Brand: "Rival"})
	const closed = `{"ProgramId":"480","ProgramName":"Program 480","Status":"closed","Domains":[],"Currency":"USD","ChargeCurrency":"CNY","ClickDays":"7"}`
	open := func(id, domains string) string {
		return `{"ProgramId":"` + id + `","ProgramName":"Program ` + id + `","Status":"open","Domains":[` + domains +
			`],"Currency":"CNY","ChargeCurrency":"CNY","ClickDays":"30"}`
	}
	first, third := open(shop, `"shop.example"`), open("5003", `"a.example","b.example"`)
	for _, tt := range []struct {
		key   string
		p     params
		total int64
		list  []string
	}{
		{adsKey, params{}, 3, []string{closed, first, third}},
		{adsKey, params{"Page": 2, "PageSize": 2}, 3, []string{third}},
		{adsKey, params{"Page": "9999999999999999", "PageSize": 200}, 3, nil},
		{adsKey, params{"Keyword": "pROGRAM 480"}, 1, []string{closed}},
		{adsKey, params{"Category": "x"}, 0, nil},
		{"ADS-3", params{}, 0, nil},
	} {
		got := decode[page](t, f.ads(tt.key, programsQuery, tt.p))
		want := "[" + strings.Join(tt.list, ",") + "]"
		raw, err := json.Marshal(got.List)
		if err != nil || string(raw) != want || got.Total != tt.total {
			t.Errorf("%s %v: %d\n%s\nwant %d\n%s", tt.key, tt.p, got.Total, raw, tt.total, want)
		}
	}
}
