package network_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/network"
)

// parse reads a record strictly: every field that the service writes is known
// to the specification and has a value of its type.
func parse(tb testing.TB, raw []byte) schema.Order {
	tb.Helper()
	o, err := schema.ParseOrder(raw)
	if err != nil {
		tb.Fatal(err)
	}
	if err := o.Check(); err != nil || len(o.Extra) > 0 {
		tb.Fatalf("%v, extra %s", err, o.Extra)
	}
	return o
}

func TestListIsCompleteAndStable(t *testing.T) {
	f := start(t, nil)
	f.simulator(network.SimulatorConfig{Seed: 1, History: 4 * 24 * time.Hour}, 600)
	now := f.clock.unix.Load()
	for _, field := range []string{"UpdateTime", "OrderDatatime", "ChargeTime"} {
		t.Run(field, func(t *testing.T) {
			records := f.walk(4, params{"OrderField": field})
			want := int64(600)
			if field == "ChargeTime" {
				want = f.number(`SELECT COUNT(*) FROM orders WHERE charge_time IS NOT NULL`)
			}
			seen := map[string]bool{}
			for _, raw := range records {
				o := parse(t, raw)
				seen[o.Key("").String()] = true
			}
			if int64(len(records)) != want || len(seen) != len(records) {
				t.Errorf("%d records of %d orders, want %d", len(records), len(seen), want)
			}
			again := f.walk(4, params{"OrderField": field})
			if !slices.EqualFunc(records, again, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
				t.Error("a second walk gives another answer")
			}
		})
	}
	t.Run("pages of any size are one list", func(t *testing.T) {
		window := params{"Stime": now - 86400, "Etime": now}
		whole := f.list(params{"Stime": now - 86400, "Etime": now, "PageSize": 200})
		var parts []json.RawMessage
		for number := 1; len(parts) < len(whole.List); number++ {
			window["Page"], window["PageSize"] = number, 7
			p := f.list(window)
			if p.Total != whole.Total || p.Page != int64(number) || p.PageSize != 7 {
				t.Fatalf("%+v", p)
			}
			parts = append(parts, p.List...)
		}
		if len(whole.List) < 30 || !slices.EqualFunc(whole.List, parts[:len(whole.List)], func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Error("the parts are not the whole")
		}
		if p := f.list(params{"Stime": now - 86400, "Etime": now}); len(p.List) != 20 || p.PageSize != 20 || p.Page != 1 {
			t.Errorf("defaults: %d records, %+v", len(p.List), p.PageSize)
		}
		window["Page"] = "9999999999999999"
		if p := f.list(window); len(p.List) != 0 || p.Total != whole.Total {
			t.Errorf("a page behind the end: %+v", p)
		}
	})
}

// The window includes both of its ends, to the second.
func TestListWindow(t *testing.T) {
	f := start(t, nil)
	f.simulator(network.SimulatorConfig{Seed: 3}, 50)
	row := f.query(`SELECT updated_at, id FROM orders ORDER BY updated_at LIMIT 1`)[0]
	at := row[0].(int64)
	for _, tt := range []struct {
		from, to int64
		want     int
	}{{at, at, 1}, {at - 10, at, 1}, {at, at + 1, 1}, {at - 10, at - 1, 0}} {
		if p := f.list(params{"Stime": tt.from, "Etime": tt.to}); len(p.List) != tt.want || p.Total != int64(tt.want) {
			t.Errorf("%d to %d gives %d, want %d", tt.from-at, tt.to-at, len(p.List), tt.want)
		}
	}
}

func TestListFilters(t *testing.T) {
	f := start(t, nil)
	f.simulator(network.SimulatorConfig{Seed: 5}, 300)
	count := func(p params) int64 { return int64(len(f.walk(30, p))) }
	for _, tt := range []struct{ name, column, value string }{
		{"WebsiteId", "website_id", "1027"}, {"ProgramId", "program_id", "1051"}, {"SubId", "sub_id", "a/b&c"},
		{"SubId", "sub_id", "落地页"}, {"Status", "status", "-1"}, {"Status", "status", "0"}, {"Status", "status", "2"},
	} {
		want := f.number(`SELECT COUNT(*) FROM orders WHERE `+tt.column+` = ?`, tt.value)
		if got := count(params{tt.name: tt.value}); got != want || want == 0 {
			t.Errorf("%s %s: %d, want %d", tt.name, tt.value, got, want)
		}
	}
	want := f.number(`SELECT COUNT(*) FROM orders WHERE website_id = '1026' AND program_id = '1042' AND status = 1`)
	if got := count(params{"WebsiteId": website, "ProgramId": "1042", "Status": 1}); got != want || want == 0 {
		t.Errorf("together: %d, want %d", got, want)
	}
}

// The list and the detail of an order are the same bytes, and hold what the
// specification says.
func TestRecord(t *testing.T) {
	f := start(t, nil)
	f.simulator(network.SimulatorConfig{Seed: 7}, 80)
	states := map[string]int{}
	for _, raw := range f.walk(30, nil) {
		o := parse(t, raw)
		states[o.Status.String()]++
		a := f.call(ordersDetail, params{"ProgramId": o.ProgramID.String(), "OrderSn": o.OrderSn.String()})
		if a.Status != network.StatusSuccess || !bytes.Equal(a.Data, raw) {
			t.Fatalf("detail: Status %d %s\n%s\nlist:\n%s", a.Status, a.Message, a.Data, raw)
		}
		checkRecord(t, f, o)
	}
	if len(states) != 4 {
		t.Errorf("settlement states %v, want all four", states)
	}
}

func checkRecord(t *testing.T, f *fixture, o schema.Order) {
	t.Helper()
	for _, m := range []schema.Money{o.OrdersPrice, o.SiterCommission, o.Details[0].OrdersPrice, o.Details[0].OrderCommission} {
		if _, decimals, _ := strings.Cut(m.String(), "."); len(decimals) != 2 {
			t.Errorf("amount %q has not two decimal places", m)
		}
	}
	placed, err := schema.ParseTime(o.OrderTime, time.FixedZone("", 8*3600))
	if err != nil || placed.After(f.clock.Now()) {
		t.Errorf("OrderTime %s: %v", o.OrderTime, err)
	}
	if id := f.number(`SELECT order_time FROM orders WHERE id = ?`, o.ID.String()); id != placed.Unix() {
		t.Errorf("OrderTime %s is not the one stored", o.OrderTime)
	}
	settled := o.Status.String() != "0"
	for name, absent := range map[string]bool{
		"ConfirmPrice": o.ConfirmPrice.IsZero(), "ConfirmSiterCommission": o.ConfirmSiterCommission.IsZero(),
		"ChargeCurrency": o.ChargeCurrency.IsZero(), "ChargeTime": o.ChargeTime.IsZero(),
	} {
		if absent == settled {
			t.Errorf("order with Status %s: %s is absent: %v", o.Status, name, absent)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Run("bare list without details", func(t *testing.T) {
		f := start(t, func(c *network.Config) { c.BareList, c.OmitDetails = true, true })
		f.simulator(network.SimulatorConfig{Seed: 7}, 100)
		now := f.clock.unix.Load()
		var list []json.RawMessage
		if err := json.Unmarshal(f.call(ordersQuery, params{"Stime": now - 86400, "Etime": now}).Data, &list); err != nil || len(list) == 0 {
			t.Fatalf("%d records, %v", len(list), err)
		}
		o := parse(t, list[0])
		if o.Details != nil {
			t.Error("the record has Details")
		}
		a := f.call(ordersDetail, params{"ProgramId": o.ProgramID.String(), "OrderSn": o.OrderSn.String()})
		if full := parse(t, a.Data); len(full.Details) == 0 {
			t.Error("the detail has no Details")
		}
	})
	t.Run("prefix, base address, zone and clock", func(t *testing.T) {
		f := start(t, func(c *network.Config) {
			c.ServicePrefix, c.BaseURL, c.TimeZone, c.TimestampWindow = "lb", "https://n.example/api/v1/", time.UTC, -1
		})
		f.simulator(network.SimulatorConfig{Seed: 7}, 1)
		service := "lb.open-service.orders.query.get"
		at := f.number(`SELECT updated_at FROM orders`)
		body := f.signed(appKey, appSecret, service, params{"Stime": at, "Etime": at, "Timestamp": 1})
		a := f.post("/api/v1/"+appKey+"/"+service, body)
		var data page
		if err := json.Unmarshal(a.Data, &data); err != nil || len(data.List) != 1 {
			t.Fatalf("Status %d: %s, %v", a.Status, a.Message, err)
		}
		want := time.Unix(f.number(`SELECT order_time FROM orders`), 0).UTC().Format(time.DateTime)
		if o := parse(t, data.List[0]); o.OrderTime.String() != want {
			t.Errorf("OrderTime %s, want %s", o.OrderTime, want)
		}
		if a := f.post("/"+appKey+"/"+service, body); a.HTTP != 404 {
			t.Errorf("without the base path: HTTP %d", a.HTTP)
		}
		f.putProgram(network.TestProgram{ID: "900", Domains: []string{"e.com"}})
		link := f.post("/api/v1/"+appKey+"/lb.service.links.post",
			f.signed(appKey, appSecret, "lb.service.links.post", params{"Url": "https://e.com", "WebsiteId": website}))
		if !strings.Contains(string(link.Data), `"Url":"https://n.example/api/v1/c/`) {
			t.Errorf("link %s", link.Data)
		}
	})
}

func TestConfigErrors(t *testing.T) {
	for field, c := range map[string]network.Config{
		"DB":            {},
		"ServicePrefix": {DB: "x", ServicePrefix: "a.b"},
		"BaseURL":       {DB: "x", BaseURL: "ftp://x"},
		"MaxConcurrent": {DB: "x", MaxConcurrent: -1},
	} {
		_, err := network.Open(t.Context(), c)
		var e *network.ConfigError
		if !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
