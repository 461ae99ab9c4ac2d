package network_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

const (
	programsQuery  = "svc.open-service.programs.query.get"
	programsDetail = "svc.open-service.programs.detail.get"
	materialsQuery = "svc.open-service.materials.query.get"
	settlementGet  = "svc.open-service.orders.settlement.get"
)

// write runs statements that fill the database.
func (f *fixture) write(statements ...string) {
	f.tb.Helper()
	for _, statement := range statements {
		if err := f.svc.Exec(f.tb.Context(), statement); err != nil {
			f.tb.Fatalf("%s: %v", statement, err)
		}
	}
}

// twoBrands adds programs 1 to 4: two open ones of a brand, a closed one, and
// an open one of another brand.
func (f *fixture) twoBrands() {
	f.tb.Helper()
	for _, key := range []string{"brand", "rival"} {
		if err := f.svc.AddAdvertiser(f.tb.Context(), network.Advertiser{AdsKey: key}); err != nil {
			f.tb.Fatal(err)
		}
	}
	const insert = `INSERT INTO programs (id, name, domain, currency, charge_currency, commission_rate, created_at, advertiser_id,
		description, category, status, click_days) VALUES `
	of := func(key string) string {
		return `(SELECT advertiser_id FROM access_keys WHERE access_key = '` + key + `')`
	}
	f.write(
		insert+`('1', 'Kettles & 100% Tea', '', 'CNY', 'USD', 0, 0, `+of("brand")+`, 'for 书 lovers', 'Home', 'open', 30)`,
		insert+`('2', 'Books_', '', 'CNY', 'CNY', 0, 0, `+of("brand")+`, '', 'Books', 'open', 7)`,
		insert+`('3', 'Tea', '', 'CNY', 'CNY', 0, 0, `+of("brand")+`, '', 'Home', 'closed', 30)`,
		insert+`('4', 'Tents!', '', 'USD', 'USD', 0, 0, `+of("rival")+`, 'TEA too', '', 'open', 30)`,
		`INSERT INTO program_domains (program_id, domain) VALUES ('1', 'tea.example'), ('1', 'kettle.example'), ('2', 'books.example')`,
		`INSERT INTO commission_rates (program_id, category, kind, value) VALUES ('1', '', 'percent', 725), ('1', '88', 'fixed', 1205), ('3', '', 'percent', 5)`,
	)
}

// field returns a field of every record of a list.
func (f *fixture) field(service string, p params, name string) (values []string) {
	f.tb.Helper()
	var data page
	f.data(service, p, &data)
	return fieldOf(f.tb, data, name)
}

func fieldOf(tb testing.TB, data page, name string) (values []string) {
	tb.Helper()
	for _, raw := range data.List {
		var d map[string]any
		if err := json.Unmarshal(raw, &d); err != nil {
			tb.Fatal(err)
		}
		values = append(values, fmt.Sprint(d[name]))
	}
	return values
}

func TestPrograms(t *testing.T) {
	f := start(t, nil)
	f.twoBrands()
	for _, tt := range []struct {
		p    params
		want string
	}{
		{nil, "1 2 4"}, {params{"Category": "Home"}, "1"}, {params{"Keyword": "tEA"}, "1 4"}, {params{"Keyword": "书"}, "1"},
		{params{"Keyword": "%"}, "1"}, {params{"Keyword": "_"}, "2"}, {params{"Keyword": "!"}, "4"}, {params{"Keyword": "nothing"}, ""},
		{params{"Category": "Home", "Keyword": "Books"}, ""}, {params{"PageSize": 2}, "1 2"}, {params{"PageSize": 2, "Page": 2}, "4"},
	} {
		if got := strings.Join(f.field(programsQuery, tt.p, "ProgramId"), " "); got != tt.want {
			t.Errorf("%v: programs %q, want %q", tt.p, got, tt.want)
		}
	}
	var data page
	f.data(programsQuery, params{"PageSize": 2, "Page": 9}, &data)
	if data.Total != 3 || len(data.List) != 0 {
		t.Errorf("behind the end: %+v", data)
	}
	if a := f.post("/brand/"+programsQuery, []byte(`{}`)); a.Status == network.StatusSuccess {
		if err := json.Unmarshal(a.Data, &data); err != nil || !slices.Equal(fieldOf(t, data, "ProgramId"), []string{"1", "2", "3"}) {
			t.Errorf("of the brand: %s, %v", a.Data, err)
		}
	} else {
		t.Errorf("of the brand: Status %d: %s", a.Status, a.Message)
	}
}

func TestProgramDetail(t *testing.T) {
	f := start(t, nil)
	f.twoBrands()
	for id, want := range map[string]string{
		"1": `{"ProgramId":"1","ProgramName":"Kettles & 100% Tea","Description":"for 书 lovers","Category":"Home","Status":"open",` +
			`"Domains":["kettle.example","tea.example"],"Currency":"CNY","ChargeCurrency":"USD","ClickDays":"30",` +
			`"Rates":[{"Kind":"percent","Value":"7.25"},{"CateId":"88","Kind":"fixed","Value":"12.05"}]}`,
		"3": `{"ProgramId":"3","ProgramName":"Tea","Category":"Home","Status":"closed","Domains":[],"Currency":"CNY",` +
			`"ChargeCurrency":"CNY","ClickDays":"30","Rates":[{"Kind":"percent","Value":"0.05"}]}`,
		"4": `{"ProgramId":"4","ProgramName":"Tents!","Description":"TEA too","Status":"open","Domains":[],"Currency":"USD",` +
			`"ChargeCurrency":"USD","ClickDays":"30","Rates":[]}`,
	} {
		if a := f.call(programsDetail, params{"ProgramId": id}); string(a.Data) != want {
			t.Errorf("Status %d %s\ngot  %s\nwant %s", a.Status, a.Message, a.Data, want)
		}
	}
	if a := f.call(programsDetail, params{"ProgramId": "5"}); a.Status != network.StatusNotFound {
		t.Errorf("no such program: Status %d", a.Status)
	}
	if a := f.call(programsDetail, nil); a.Status != network.StatusParameter {
		t.Errorf("no ProgramId: Status %d", a.Status)
	}
}

func TestMaterials(t *testing.T) {
	f := start(t, nil)
	f.twoBrands()
	now := f.clock.unix.Load()
	add := func(id, program, kind, from, to string) {
		f.write(`INSERT INTO materials (id, program_id, kind, title, body, target, width, height, starts_at, ends_at, created_at, updated_at)
			VALUES ('` + id + `', '` + program + `', '` + kind + `', '', 'SAVE10', 'https://tea.example/', 0, 0, ` + from + `, ` + to + `, 0, 0)`)
	}
	at := func(offset int64) string { return fmt.Sprint(now + offset) }
	add("m1", "1", "coupon", "NULL", "NULL")
	add("m2", "1", "text", at(0), at(1))
	add("m3", "2", "banner", at(1), "NULL")     // not yet
	add("m4", "2", "banner", "NULL", at(0))     // no longer
	add("m5", "3", "banner", "NULL", "NULL")    // of a closed program
	add("m0", "4", "banner", at(-9), at(86400)) // of another brand
	f.write(`UPDATE materials SET title = 'All of 茶', width = 300, height = 250 WHERE id = 'm0'`)
	for _, tt := range []struct {
		p    params
		want string
	}{
		{nil, "m1 m2 m0"}, {params{"ProgramId": 1}, "m1 m2"}, {params{"ProgramId": "3"}, ""}, {params{"Kind": "text"}, "m2"},
		{params{"ProgramId": "4", "Kind": "banner"}, "m0"}, {params{"PageSize": 1, "Page": 3}, "m0"},
	} {
		if got := strings.Join(f.field(materialsQuery, tt.p, "MaterialId"), " "); got != tt.want {
			t.Errorf("%v: materials %q, want %q", tt.p, got, tt.want)
		}
	}
	var data page
	f.data(materialsQuery, params{"ProgramId": "4"}, &data)
	if want := `{"MaterialId":"m0","ProgramId":"4","Kind":"banner","Title":"All of 茶","Body":"SAVE10","TargetUrl":"https://tea.example/",` +
		`"Width":"300","Height":"250","StartTime":"2026-11-12 07:59:51","EndTime":"2026-11-13 08:00:00"}`; string(data.List[0]) != want {
		t.Errorf("got  %s\nwant %s", data.List[0], want)
	}
	f.data(materialsQuery, params{"Kind": "coupon"}, &data)
	if want := `{"MaterialId":"m1","ProgramId":"1","Kind":"coupon","Body":"SAVE10","TargetUrl":"https://tea.example/"}`; string(data.List[0]) != want {
		t.Errorf("got  %s\nwant %s", data.List[0], want)
	}
	if a := f.call(materialsQuery, params{"Kind": "video"}); a.Status != network.StatusParameter {
		t.Errorf("unknown kind: Status %d", a.Status)
	}
	f.clock.advance(time.Second)
	if got := f.field(materialsQuery, nil, "MaterialId"); !slices.Equal(got, []string{"m1", "m3", "m0"}) {
		t.Errorf("a second later: %s", got)
	}
}

func TestSettlements(t *testing.T) {
	f := start(t, nil)
	f.publisher(network.Publisher{AppKey: "other", AppSecret: "x", Websites: []string{"2001"}})
	f.simulator(network.SimulatorConfig{Seed: 2}, 2) // one order for each publisher
	f.write(`DELETE FROM settlement_changes`)        // what they have brought with them
	now := f.clock.unix.Load()
	mine := f.query(`SELECT id, program_id, order_sn, sub_id, website_id FROM orders WHERE publisher_id = 1`)[0]
	add := func(seq int, order any, publisher int, at int64, amounts string) {
		f.write(fmt.Sprintf(`INSERT INTO settlement_changes (seq, order_id, publisher_id, at, price_before, price, commission_before, commission, charge_currency)
			VALUES (%d, %d, %d, %d, %s, 'USD')`, seq, order, publisher, at, amounts))
	}
	add(900001, mine[0], 1, now-10, `0, 12345, 0, 617`)
	add(900002, mine[0], 1, now-10, `12345, 12005, 617, 600`)
	add(900003, mine[0], 1, now, `12005, 0, 600, 0`)
	add(900004, f.query(`SELECT id FROM orders WHERE publisher_id = 2`)[0][0], 2, now, `0, 1, 0, 1`)
	window := params{"Stime": now - 10, "Etime": now}
	with := func(p params) params {
		for name, value := range window {
			if _, there := p[name]; !there {
				p[name] = value
			}
		}
		return p
	}
	for _, tt := range []struct {
		p    params
		want string
	}{
		{params{}, "900001 900002 900003"}, {params{"Stime": now - 9}, "900003"}, {params{"Etime": now - 1}, "900001 900002"},
		{params{"OrderSn": mine[2]}, "900001 900002 900003"}, {params{"OrderSn": "x"}, ""}, {params{"ProgramId": mine[1]}, "900001 900002 900003"},
		{params{"ProgramId": "x"}, ""}, {params{"SubId": "x"}, ""}, {params{"PageSize": 2, "Page": 2}, "900003"},
	} {
		if got := strings.Join(f.field(settlementGet, with(tt.p), "Id"), " "); got != tt.want {
			t.Errorf("%v: changes %q, want %q", tt.p, got, tt.want)
		}
	}
	var data struct{ List []map[string]string }
	f.data(settlementGet, window, &data)
	want := map[string]string{
		"Id": "900002", "ProgramId": mine[1].(string), "OrderSn": mine[2].(string), "WebsiteId": mine[4].(string),
		"ConfirmPriceOld": "123.4500", "ModifyPrice": "-3.4000", "ConfirmPrice": "120.0500", "ConfirmSiterCommissionOld": "6.1700",
		"ModifySiterCommission": "-0.1700", "ConfirmSiterCommission": "6.0000", "ChargeCurrency": "USD", "ChargeTime": "2026-11-12 07:59:50",
	}
	if sub := mine[3].(string); sub != "" {
		want["SubId"] = sub
	}
	if got := data.List[1]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for status, p := range map[network.Status]params{
		network.StatusSpan: {"Stime": now - 86401}, network.StatusParameter: {"Etime": now - 11},
	} {
		if a := f.call(settlementGet, with(p)); a.Status != status {
			t.Errorf("%v: Status %d, want %d", p, a.Status, status)
		}
	}
}

func TestStatisticsParameters(t *testing.T) {
	f := start(t, nil)
	for _, tt := range []struct {
		p    params
		want network.Status
	}{
		{params{"Stime": "2025-11-12", "Etime": "2026-11-12"}, network.StatusSuccess}, // 366 days
		{params{"Stime": "2025-11-11", "Etime": "2026-11-12"}, network.StatusSpan},
		{params{"Stime": "2026-11-13", "Etime": "2026-11-12"}, network.StatusParameter},
		{params{"Stime": "2026-11-31", "Etime": "2026-12-12"}, network.StatusParameter},
		{params{"Stime": "12.11.2026", "Etime": "2026-11-12"}, network.StatusParameter},
		{params{"Stime": "-1", "Etime": "0"}, network.StatusParameter},
		{params{"Etime": "2026-11-12"}, network.StatusParameter},
		{params{"Stime": "9999999999999999", "Etime": "9999999999999999"}, network.StatusSuccess},
		{params{"Stime": 0, "Etime": 0, "GroupBy": "SubId,Day,Day"}, network.StatusSuccess},
		{params{"Stime": 0, "Etime": 0, "GroupBy": "Day,Month"}, network.StatusParameter},
		{params{"Stime": 0, "Etime": 0, "GroupBy": "Day,"}, network.StatusParameter},
		{params{"Stime": 0, "Etime": 0, "PageSize": 201}, network.StatusParameter},
	} {
		if a := f.call(statisticsGet, tt.p); a.Status != tt.want {
			t.Errorf("%v: Status %d %s, want %d", tt.p, a.Status, a.Message, tt.want)
		}
	}
}
