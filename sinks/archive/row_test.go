package archive

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// full has every field of the specification, and some that it does not know.
const full = `{"specversion":"1.0","id":"$ID","source":"/orderwire/main","type":"status.changed",
"subject":"main.1042.SN-1","time":"2026-11-01T01:02:03.123456Z","datacontenttype":"application/json","traceparent":"00-ab-01",
"data":{"account":"main","time_zone":"Asia/Shanghai","version":2,"previous_id":"$PREVIOUS",
"observed_at":"2026-11-01T01:02:03.123456Z","regression":true,
"order":{"Id":"9","ProgramId":"1042","ProgramName":"Programme","WebsiteId":"7","LinkId":"8","SubId":"spring",
"OrderSn":"SN-1","ParentOrderSn":"P-1","OrderTime":"2026-10-31 23:59:58","OrdersPrice":"12.50","SiterCommission":"-0.50",
"Currency":"CNY","Status":"1","ConfirmPrice":"99999999.99","ConfirmSiterCommission":"0.00","ChargeCurrency":"USD",
"ChargeTime":"2026-11-01 09:00:00","Details":[{"GoodsCate":"1","ItemCate":"2","ItemCateName":"Garden","ItemId":"3",
"ItemName":"Schere ✂","ItemPrice":"9.9","ItemCount":"2","OrdersPrice":"12.50","OrderStatus":"交易成功","OrderCommission":"0.25",
"OrderSn":"SN-1","ParentOrderSn":"P-1","ItemImg":"https://img.example.com/3.jpg","ShopTitle":"Shop","LbOrderStatus":"81",
"Colour":{"hex":"#fff"}},{"ItemId":"4"}],"Coupon":"abc","Flags":[1,2]},
"changes":[{"path":"/Status","from":"0","to":"1"},{"path":"/Coupon","to":"abc"},{"path":"/Old","from":{"a":1}}]}}`

// withIDs fills the ids into a document about version v of an order.
func withIDs(document string, key schema.OrderKey, v uint64) string {
	return strings.NewReplacer("$ID", schema.EventID(key, v), "$PREVIOUS", schema.EventID(key, v-1)).Replace(document)
}

func TestEveryFieldComesBack(t *testing.T) {
	t.Parallel()
	e := parseEntry(t, 7, withIDs(full, schema.OrderKey{Account: "main", Program: "1042", OrderSn: "SN-1"}, 2))
	e.Stored = time.Date(2026, 11, 1, 1, 2, 4, 5000, time.UTC)
	dir := archived(t, []schema.Entry{e})
	got := rows(t, dir)
	if len(got) != 1 {
		t.Fatalf("%d rows", len(got))
	}
	want := Row{
		Account: "main", Sequence: 7, StoredAt: e.Stored, EventID: e.Event.ID, EventType: "status.changed", Version: 2,
		PreviousID: new(e.Event.Data.PreviousID), ObservedAt: time.Date(2026, 11, 1, 1, 2, 3, 123456000, time.UTC),
		Regression: true, TimeZone: "Asia/Shanghai",
		OrderID: new("9"), ProgramID: new("1042"), ProgramName: new("Programme"), WebsiteID: new("7"), LinkID: new("8"),
		SubID: new("spring"), OrderSn: "SN-1", ParentOrderSn: new("P-1"),
		OrderTime:   new(time.Date(2026, 10, 31, 15, 59, 58, 0, time.UTC)),
		OrdersPrice: new(int64(1250)), SiterCommission: new(int64(-50)), Currency: new("CNY"),
		Status: new(int32(1)), StatusName: new("Confirmed"),
		ConfirmPrice: new(int64(9999999999)), ConfirmSiterCommission: new(int64(0)), ChargeCurrency: new("USD"),
		ChargeTime: new(time.Date(2026, 11, 1, 1, 0, 0, 0, time.UTC)),
		Lines: []Line{{
			GoodsCate: new("1"), ItemCate: new("2"), ItemCateName: new("Garden"), ItemID: new("3"), ItemName: new("Schere ✂"),
			ItemPrice: new("9.9"), ItemCount: new("2"), OrdersPrice: new(int64(1250)), OrderStatus: new("交易成功"),
			OrderCommission: new(int64(25)), OrderSn: new("SN-1"), ParentOrderSn: new("P-1"),
			ItemImg: new("https://img.example.com/3.jpg"), ShopTitle: new("Shop"),
			LbOrderStatus: new(int32(81)), LbOrderStatusName: new("Dispute resolved"), Extra: new(`{"Colour":{"hex":"#fff"}}`),
		}, {ItemID: new("4")}},
		Changes: []Change{
			{Path: "/Status", From: new(`"0"`), To: new(`"1"`)}, {Path: "/Coupon", To: new(`"abc"`)}, {Path: "/Old", From: new(`{"a":1}`)},
		},
		Extra: new(`{"Coupon":"abc","Flags":[1,2]}`), Extensions: new(`{"traceparent":"00-ab-01"}`),
	}
	if !reflect.DeepEqual(got[0], want) {
		t.Errorf("got  %s\nwant %s", asJSON(t, got[0]), asJSON(t, want))
	}
	sameEvent(t, &e, &got[0])
}

func TestWhatColumnsCannotHoldIsKept(t *testing.T) {
	t.Parallel()
	const head = `{"specversion":"1.0","id":"$ID","type":"order.created","data":{"account":"main","version":1,"observed_at":"2026-11-01T01:02:03Z",`
	tests := []struct {
		name    string
		data    string // of the event behind observed_at
		untyped string // "" for null
		check   func(Row) bool
	}{
		{
			"absent", `"time_zone":"Asia/Shanghai","order":{"OrderSn":"1"},"changes":[]`, "",
			func(r Row) bool {
				return r.ProgramID == nil && r.OrderTime == nil && r.OrdersPrice == nil && r.Status == nil && r.StatusName == nil &&
					r.Lines == nil && len(r.Changes) == 0 && r.Extra == nil && r.Extensions == nil && r.PreviousID == nil
			},
		},
		{
			"empty", `"time_zone":"Asia/Shanghai","order":{"OrderSn":"1","ProgramId":"","OrderTime":"","OrdersPrice":"","Status":"","Details":[]},"changes":[]`,
			`{"Status":"","OrderTime":"","OrdersPrice":""}`,
			func(r Row) bool {
				return r.ProgramID != nil && *r.ProgramID == "" && r.OrderTime == nil && r.OrdersPrice == nil && r.Status == nil &&
					r.Lines != nil && len(r.Lines) == 0
			},
		},
		{
			"amounts otherwise written", `"time_zone":"UTC","order":{"OrderSn":"1","OrdersPrice":12.5,"SiterCommission":"7","ConfirmPrice":"-0.00","ConfirmSiterCommission":"1e2"},"changes":[]`,
			`{"OrdersPrice":"12.5","SiterCommission":"7","ConfirmPrice":"-0.00","ConfirmSiterCommission":"1e2"}`,
			func(r Row) bool {
				return *r.OrdersPrice == 1250 && *r.SiterCommission == 700 && *r.ConfirmPrice == 0 && *r.ConfirmSiterCommission == 10000
			},
		},
		{
			"amounts beyond decimal(10,2)", `"time_zone":"UTC","order":{"OrderSn":"1","OrdersPrice":"123456789.00","SiterCommission":"0.001"},"changes":[]`,
			`{"OrdersPrice":"123456789.00","SiterCommission":"0.001"}`,
			func(r Row) bool { return r.OrdersPrice == nil && r.SiterCommission == nil },
		},
		{
			"statuses", `"time_zone":"UTC","order":{"OrderSn":"1","Status":"7","Details":[{},{"LbOrderStatus":"Paid"},{"LbOrderStatus":"99","OrdersPrice":"1"}]},"changes":[]`,
			`{"Status":"7","Details/1/LbOrderStatus":"Paid","Details/2/LbOrderStatus":"99","Details/2/OrdersPrice":"1"}`,
			func(r Row) bool {
				return r.Status == nil && r.StatusName == nil && *r.Lines[1].LbOrderStatus == 2 && *r.Lines[1].LbOrderStatusName == "Paid" &&
					r.Lines[2].LbOrderStatus == nil && *r.Lines[2].OrdersPrice == 100
			},
		},
		{
			"times", `"time_zone":"Europe/Berlin","order":{"OrderSn":"1","OrderTime":"0000-00-00 00:00:00","ChargeTime":"2026-03-29 02:30:00"},"changes":[]`,
			`{"OrderTime":"0000-00-00 00:00:00","ChargeTime":"2026-03-29 02:30:00"}`,
			func(r Row) bool { return r.OrderTime == nil && r.ChargeTime != nil },
		},
		{
			"times that are none", `"time_zone":"UTC","order":{"OrderSn":"1","OrderTime":"2026-02-30 00:00:00","ChargeTime":" 2026-02-28 00:00:00.5"},"changes":[]`,
			`{"OrderTime":"2026-02-30 00:00:00","ChargeTime":" 2026-02-28 00:00:00.5"}`,
			func(r Row) bool { return r.OrderTime == nil && r.ChargeTime != nil },
		},
		{
			"unknown zone", `"time_zone":"Mars/Olympus","order":{"OrderSn":"1","OrderTime":"2026-10-31 23:59:58"},"changes":[]`,
			`{"OrderTime":"2026-10-31 23:59:58"}`,
			func(r Row) bool { return r.OrderTime == nil },
		},
		{
			"zone of the machine", `"time_zone":"Local","order":{"OrderSn":"1","OrderTime":"2026-10-31 23:59:58"},"changes":[]`,
			`{"OrderTime":"2026-10-31 23:59:58"}`,
			func(r Row) bool { return r.OrderTime == nil },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := parseEntry(t, 1, withIDs(head+tt.data+"}}", schema.OrderKey{Account: "main", OrderSn: "1"}, 1))
			r := rows(t, archived(t, []schema.Entry{e}))[0]
			untyped := ""
			if r.Untyped != nil {
				untyped = *r.Untyped
			}
			if untyped != tt.untyped || !tt.check(r) {
				t.Errorf("untyped is %s, not %s; the row: %s", untyped, tt.untyped, asJSON(t, r))
			}
			e.Event.SpecVersion, e.Event.Source, e.Event.Subject, e.Event.DataContentType =
				"1.0", "/orderwire/main", e.Event.Key().String(), "application/json"
			sameEvent(t, &e, &r)
		})
	}
}

func TestReadFileTakesTheAccountFromThePath(t *testing.T) {
	t.Parallel()
	account := "a.b=c/ü"
	dir := archived(t, []schema.Entry{entry(t, 1, event(account, 1, 1))})
	names := visible(t, dir)
	if len(names) != 1 || names[0] != "account=a%2Eb%3Dc%2F%C3%BC/event_date=2026-11-01/00000000000000000001-00000000000000000001.parquet" {
		t.Fatalf("files %v", names)
	}
	for row, err := range ReadFile(t.Context(), filepath.Join(dir, names[0])) {
		if err != nil || row.Account != account {
			t.Errorf("account %q, error %v", row.Account, err)
		}
	}
}
