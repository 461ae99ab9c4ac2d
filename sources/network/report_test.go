package network_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/network"
)

// detail reads an order as the first publisher.
func (f *fixture) detail(sn string) schema.Order {
	f.tb.Helper()
	a := f.call(ordersDetail, params{"ProgramId": shop, "OrderSn": sn})
	if a.Status != network.StatusSuccess {
		f.tb.Fatalf("order %s: Status %d: %s", sn, a.Status, a.Message)
	}
	return parse(f.tb, a.Data)
}

// first is a first report of an order, changed by more.
func (f *fixture) first(sn string, more params) params {
	p := params{
		"OrderId": sn, "ClickId": f.clicked(), "TransactionTime": f.clock.Now().UTC().Format(time.RFC3339), "Amount": "100.00",
	}
	maps.Copy(p, more)
	return p
}

// From the link to the settled order, as each side sees it.
func TestReportedOrder(t *testing.T) {
	f := startBrand(t)
	link := f.link(params{"Url": shopURL, "WebsiteId": website, "SubId": "news"})
	click := f.click("/c/" + link.LinkId + "?sub_id=mail-3")
	f.clock.advance(time.Hour)
	got := f.report(params{
		"OrderId": "B/1", "ClickId": click, "TransactionTime": "2026-11-12T08:30:00", "Amount": 259.90, "IsNewCustomer": true,
		"PromoCode": "NEW10", "ItemDetails": []params{
			{"ItemId": "7", "ItemName": "Tea pot", "Quantity": 2, "Price": "100.00", "CateId": "88", "CateName": "Tea", "PayAmount": "199.90"},
			{"ItemId": 8, "Price": 20, "Quantity": "3", "Status": "21"},
		},
	})
	id := fmt.Sprint(f.number(`SELECT id FROM orders`))
	if want := (reported{id, "B/1", "0", "13.00", "1"}); got != want { // 9.995 and 3.00
		t.Errorf("reported %+v, want %+v", got, want)
	}
	a := f.call(ordersDetail, params{"ProgramId": shop, "OrderSn": "B/1"})
	want := fmt.Sprintf(`{"Id":%q,"ProgramId":"5001","ProgramName":"Program 5001","WebsiteId":"1026","LinkId":%q,"SubId":"mail-3",`+
		`"OrderSn":"B/1","OrderTime":"2026-11-12 08:30:00","OrdersPrice":"259.90","SiterCommission":"13.00","Currency":"CNY","Status":"0",`+
		`"Details":[{"GoodsCate":"88","ItemCate":"88","ItemCateName":"Tea","ItemId":"7","ItemName":"Tea pot","ItemPrice":"100.00",`+
		`"ItemCount":"2","OrdersPrice":"199.90","OrderCommission":"10.00","OrderSn":"B/1","LbOrderStatus":"2"},`+
		`{"ItemId":"8","ItemPrice":"20","ItemCount":"3","OrdersPrice":"60.00","OrderStatus":"21","OrderCommission":"3.00",`+
		`"OrderSn":"B/1","LbOrderStatus":"21"}]}`, id, link.LinkId)
	if string(a.Data) != want {
		t.Errorf("detail\n%s\nwant\n%s", a.Data, want)
	}
	f.clock.advance(time.Hour)
	f.report(params{"OrderID": "B/1", "Status": 1})
	o := f.detail("B/1")
	if o.Status.String() != "1" || o.ConfirmPrice.String() != "259.90" || o.ConfirmSiterCommission.String() != "13.00" ||
		o.ChargeCurrency.String() != "CNY" || o.ChargeTime.String() != "2026-11-12 10:00:00" {
		t.Errorf("confirmed: %+v", o)
	}
	f.sameEverywhere("B/1")
	row := f.query(`SELECT click_id, promo_code, new_customer FROM orders`)[0]
	if row[0] != click || row[1] != "NEW10" || row[2] != int64(1) {
		t.Errorf("beside the record: %v", row)
	}
}

// sameEverywhere checks that publisher and brand read the same bytes in list
// and detail.
func (f *fixture) sameEverywhere(sn string) {
	f.tb.Helper()
	now := f.clock.unix.Load()
	detail, list := params{"ProgramId": shop, "OrderSn": sn}, params{"Stime": now - 3600, "Etime": now}
	want := f.call(ordersDetail, detail).Data
	if got := f.ads(adsKey, ordersDetail, detail); !bytes.Equal(got.Data, want) {
		f.tb.Errorf("detail of the brand: Status %d: %s\n%s", got.Status, got.Message, got.Data)
	}
	for side, p := range map[string]page{"publisher": f.list(list), "brand": decode[page](f.tb, f.ads(adsKey, ordersQuery, list))} {
		if len(p.List) != 1 || p.Total != 1 || !bytes.Equal(p.List[0], want) {
			f.tb.Errorf("list of the %s: %s, want %s", side, p.List, want)
		}
	}
}

// The same report again changes nothing, whether it is the first one, comes at
// once or after the program has other rates.
func TestReportAgain(t *testing.T) {
	f := startBrand(t)
	f.putProgram(network.TestProgram{ID: "5002", Brand: brand, Currency: "USD", ChargeCurrency: "CNY", Exchange: "7.1", Domains: []string{"us.example"}, Rates: fivePercent})
	click := f.click("/c/" + f.link(params{"Url": "https://us.example", "WebsiteId": website}).LinkId)
	items := []params{{"ItemId": 1, "PayAmount": "60.00", "Quantity": 2}, {"ItemId": 2, "PayAmount": "40.00", "Status": "SHIPPED"}}
	reports := []params{
		f.first("1", params{"ClickId": click, "Currency": "USD", "Status": 0, "ItemDetails": items, "IsNewCustomer": "yes"}),
		{"OrderId": "1", "Status": 1, "Amount": "90"},
		{"OrderId": "1", "Status": 2, "PromoCode": "X"},
		{"OrderId": "1", "Amount": "55.5", "ItemDetails": items[:1]},
		{"OrderId": "1", "Status": -1},
		{"OrderId": "1", "Status": 0, "ItemDetails": items, "Amount": 20},
		f.first("2", params{"ClickId": click, "Amount": 30}),
		{"OrderId": "2", "Status": 1},
	}
	state := func() string {
		return fmt.Sprint(f.query(`SELECT * FROM orders`), f.query(`SELECT * FROM order_history`), f.query(`SELECT * FROM settlement_changes`))
	}
	for n, p := range reports {
		p["ProgramId"] = "5002"
		f.clock.advance(time.Minute)
		before := state()
		first := f.report(p)
		after := state()
		if before == after || f.number(`SELECT COUNT(*) FROM order_history`) != int64(n+1) {
			t.Errorf("report %d changed nothing, or more than once", n)
		}
		f.putProgram(network.TestProgram{ID: "5002", Exchange: fmt.Sprint(n + 2), Rates: []network.TestRate{{Kind: "fixed", Value: 77}}})
		for range 2 {
			f.clock.advance(time.Minute)
			again := f.report(p)
			first.Created = "0"
			if again != first || state() != after {
				t.Errorf("report %d again gives %+v, want %+v; the state is\n%s\nwas\n%s", n, again, first, state(), after)
			}
		}
		f.putProgram(network.TestProgram{ID: "5002", Exchange: "7.1", Rates: fivePercent})
	}
	f.checkStatistics(t, shanghai)
}

// Reports of one order that come at once make one order.
func TestReportsAtOnce(t *testing.T) {
	f := startBrand(t)
	p := f.first("1", nil)
	answers := make([]reported, 20)
	var all sync.WaitGroup
	for n := range answers {
		all.Go(func() {
			a := f.ads(adsKey, ordersPost, p)
			if err := json.Unmarshal(a.Data, &answers[n]); err != nil {
				t.Errorf("Status %d: %s", a.Status, a.Message)
			}
		})
	}
	all.Wait()
	created := 0
	for _, a := range answers {
		if a.Created == "1" {
			created++
		}
		if a.Created = answers[0].Created; a != answers[0] {
			t.Errorf("%+v and %+v", a, answers[0])
		}
	}
	if created != 1 || f.number(`SELECT COUNT(*) FROM orders`) != 1 || f.number(`SELECT COUNT(*) FROM order_history`) != 1 {
		t.Errorf("%d created, %d orders", created, f.number(`SELECT COUNT(*) FROM orders`))
	}
}

// An order belongs to who brought its click, whatever comes later.
func TestAttribution(t *testing.T) {
	f := startBrand(t)
	f.publisher(network.Publisher{AppKey: "other", AppSecret: "o", Websites: []string{"2001"}})
	theirs := decode[linkData](t, f.callAs("other", "o", linksPost, params{"Url": shopURL, "WebsiteId": "2001"}))
	click := f.click("/c/" + theirs.LinkId)
	f.report(f.first("mine", nil))
	f.report(f.first("theirs", params{"ClickId": click}))
	for _, tt := range []struct{ key, secret, sn, foreign, website, sub string }{
		{appKey, appSecret, "mine", "theirs", website, "news"}, {"other", "o", "theirs", "mine", "2001", ""},
	} {
		a := f.callAs(tt.key, tt.secret, ordersDetail, params{"ProgramId": shop, "OrderSn": tt.sn})
		if o := parse(t, a.Data); o.WebsiteID.String() != tt.website || o.SubID.String() != tt.sub {
			t.Errorf("%s: %s", tt.sn, a.Data)
		}
		if a := f.callAs(tt.key, tt.secret, ordersDetail, params{"ProgramId": shop, "OrderSn": tt.foreign}); a.Status != network.StatusNotFound {
			t.Errorf("%s reads %s: Status %d", tt.key, tt.foreign, a.Status)
		}
	}
	if a := f.ads(adsKey, ordersPost, params{"OrderId": "mine", "ClickId": click, "Status": 1}); a.Status != network.StatusClick {
		t.Errorf("another click later: Status %d: %s", a.Status, a.Message)
	}
	if o := f.detail("mine"); o.Status.String() != "0" {
		t.Errorf("the refused report left Status %s", o.Status)
	}
}

// A sub-order is an order of its own that names its parent.
func TestSubOrders(t *testing.T) {
	f := startBrand(t)
	f.report(f.first("P", nil))
	f.report(f.first("P", params{"SubOrderID": "P-1", "Amount": "40", "ItemDetails": []params{{"ItemId": 1, "Price": 40}}}))
	f.report(f.first("P", params{"SubOrderID": "P-2", "Amount": "60"}))
	f.report(params{"OrderId": "P", "SubOrderID": "P-2", "Status": 1})
	for sn, want := range map[string]string{"P": " 0 100.00", "P-1": "P 0 40.00", "P-2": "P 1 60.00"} {
		o := f.detail(sn)
		if got := fmt.Sprintf("%s %s %s", o.ParentOrderSn, o.Status, o.OrdersPrice); got != want {
			t.Errorf("%s: %s, want %s", sn, got, want)
		}
	}
	if o := f.detail("P-1"); o.Details[0].ParentOrderSn.String() != "P" || o.Details[0].OrderSn.String() != "P-1" {
		t.Errorf("line %+v", o.Details[0])
	}
}

// Both spellings are taken, and the items as the text of a form field.
func TestReportSpellings(t *testing.T) {
	f := startBrand(t)
	for n, p := range []params{
		{"OrderId": "0"}, {"OrderID": "1", "OrderId": ""}, {"OrderID": "2", "OrderId": "2"}, {"OrderID": 3, "ProgramId": shop},
		{"OrderID": "parent", "SubOrderId": "4"},
	} {
		all := f.first("", p)
		if _, given := p["OrderId"]; !given {
			delete(all, "OrderId")
		}
		all["ItemDetails"] = `[{"ItemId":"x","Price":"12.50","Quantity":4}]`
		delete(all, "Amount")
		if got := f.report(all); got.OrderSn != fmt.Sprint(n) || got.SiterCommission != "2.50" {
			t.Errorf("%v gives %+v", p, got)
		}
	}
}
