package schema

import (
	"reflect"
	"strings"
	"testing"
)

// failer is a test, or a draw of a property.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// sameReading compares a reading with the reference: value and error text.
func sameReading[T any](t failer, raw []byte, got T, err error, want T, wantErr error) {
	t.Helper()
	switch {
	case (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error():
		t.Fatalf("error %v, want %v\n%q", err, wantErr, raw)
	case !reflect.DeepEqual(got, want):
		t.Fatalf("got  %+v\nwant %+v\n%q", got, want, raw)
	}
}

func compareOrder(t failer, raw []byte) {
	t.Helper()
	got, err := ParseOrder(raw)
	want, wantErr := referenceParseOrder(raw)
	sameReading(t, raw, got, err, want, wantErr)
}

// fullOrder is an order as the network writes it, with two lines.
const fullOrder = `{"Id":"90001","ProgramId":"1042","ProgramName":"东方鞋店 Shoes & More","WebsiteId":"7","LinkId":"L-2201","SubId":"spring-sale",` +
	`"OrderSn":"SN20261101000012345","ParentOrderSn":"","OrderTime":"2026-11-01 00:10:00","OrdersPrice":"259.80","SiterCommission":"12.99",` +
	`"Currency":"CNY","Status":"0","ConfirmPrice":"","ConfirmSiterCommission":"","ChargeCurrency":"","ChargeTime":"0000-00-00 00:00:00","Details":[` +
	`{"GoodsCate":"Shoes","ItemCate":"12","ItemCateName":"鞋","ItemId":"88120034","ItemName":"Trail shoe 42","ItemPrice":"129.90","ItemCount":"1",` +
	`"OrdersPrice":"129.90","OrderStatus":"paid","OrderCommission":"6.50","OrderSn":"SN20261101000012345-1","LbOrderStatus":"2"},` +
	`{"GoodsCate":"Shoes","ItemCate":"12","ItemCateName":"鞋","ItemId":"88120035","ItemName":"Trail shoe 43","ItemPrice":"129.90","ItemCount":"1",` +
	`"OrdersPrice":"129.90","OrderStatus":"paid","OrderCommission":"6.49","OrderSn":"SN20261101000012345-2","LbOrderStatus":"2"}]}`

// orderTexts are texts that have tripped, or could trip, a reader of orders.
var orderTexts = []string{
	fullOrder, ``, ` `, `null`, ` null `, `nul`, `nulx`, `{}`, ` { } `, `{} x`, `{},`, `,{}`, `:{}`, `[]`, `["x"]`, `"x"`, `"x`, `12`, `1.`, `-`, `true`, `}`, `]`, `{`, `{,`, `{:`, `{]`,
	`{"Id"`, `{"Id" `, `{"Id":`, `{"Id":}`, `{"Id":,`, `{"Id"::1}`, `{"Id",1}`, `{"Id" 1}`, `{"Id":1,}`, `{"Id":1,]`, `{"Id":1 , `, `{"Id":1:`, `{"Id":1]`, `{"Id":1 "SubId":2}`,
	`{"Id":null,"SubId":"","LinkId":"x"}`, `{"Id":true,"SubId":false,"LinkId":-1.5e+10}`, `{"Id":tru}`, `{"Id":1.}`, `{"Id":1.`, `{"Id":-`, `{"Id":-x}`, `{"Id":01}`, `{"Id":1e}`, `{"Id":1e+`,
	`{"Id":{}}`, `{"Id":[1,}`, `{"Id" : {"x`, `{"Id":"a","Id":"b"}`, `{"Id":"a","\u0049d":"b"}`, `{"\u0049d":"b","Id":}`, `{"id":1,"ID":2}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":1,"a"`,
	`{"ProgramId":1,"Id":2,"ProgramId":`, `{"ProgramId":1,"Id":2,"ProgramId" `, `{1:2}`, `{tru:1}`, `{[1,]:2}`, `{{"a":1,}:2}`, `{"Id":1,2}`, `{"Id":1,{`,
	`{"OrdersPrice":"Jane"}`, `{"OrdersPrice":true}`, `{"OrdersPrice":1e999}`, `{"OrdersPrice":"1e+-5"}`, `{"OrdersPrice":"-+1"}`, `{"OrdersPrice":"+1"}`, `{"OrdersPrice":""}`, `{"OrdersPrice":null}`,
	`{"OrdersPrice":"1."}`, `{"OrdersPrice":".5"}`, `{"OrdersPrice":1E2}`, `{"OrdersPrice":"12.5\u0030"}`, `{"OrdersPrice":[]}`, `{"OrdersPrice" :  {`, `{"OrdersPrice":"12345678901234567890123456789012"}`,
	`{"Details":null}`, `{"Details":[]}`, `{"Details":[ ]}`, `{"Details":[null,{}]}`, `{"Details":{}}`, `{"Details":"x"}`, `{"Details":"x`, `{"Details":[1]}`, `{"Details":[[]]}`, `{"Details":[{}`,
	`{"Details":[{},]}`, `{"Details":[{},}`, `{"Details":[,{}]}`, `{"Details":[{} {}]}`, `{"Details":[{"OrdersPrice":"x"}]}`, `{"Details":[{},{"ItemId":[]}]}`, `{"Details":[{"x":1,"x":2}]}`, `{"Details":[{}}`,
	`{"Details":[{"Colour":"red","Size":[4,5]},{},{},{},{},{"ItemId":6}]}`, `{"Details":[}`, `{"Details":[:`, `{"Details":1.}`,
	`{"x" : [1, 2.50, {"a" : null}] , "y":"\u00e9"}`, `{"x":{"a":1,"a":2}}`, `{"x":{"a":1,"\u0061":2}}`, `{"x":{"a":1,}}`, `{"x":[1,]}`, `{"x":[1 2]}`, `{"x":{"a" 1}}`, `{"x":{1:1}}`, `{"x":{tru:1}}`, `{"x":}`,
	`{"x":[[[`, `{"x":{"y":[}}`, `{"x":1,"y":2,"z":{"x":1}}`, `{"\u0078":1,"x":2}`, `{"x\/":"\/"}`,
	`{"Id":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}`, `{"Id":"\ud83d"}`, `{"Id":"\ude00\ud83d"}`, `{"Id":"\ud83d\u0041"}`, `{"Id":"\ud83dx`, `{"Id":"\u12`, `{"Id":"\u1G34"}`, `{"Id":"\x"}`, `{"Id":"\`, `{"Id":"a\u000`,
	"{\"Id\":\"\xff\"}", "{\"Id\":\"abcdefgh\xe4\xb8\"}", "{\"Id\":\"\xe4", "{\"\xff\":1}", "{\"Id\":\"a\nb\"}", "{\"Id\":\"\x00\"}", "{\"Id\":\"\u2028<&>\x7f\"}", "{\"Id\":\"\ufffd\"}", "\ufeff{}", "{\"x\":\"\xed\xa0\x80\"}",
	"{\t\"Id\"\r\n:\t1\n,\"SubId\" :2 }\n", "{\"Id\"\x0b:1}", `{"Id":NaN}`, `{"Id":'a'}`, `{/**/}`, `{"":1,"":2}`, `{"":1}`,
}

func TestParseOrderLikeReference(t *testing.T) {
	deep := func(n int) string { return `{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	many := strings.Repeat("{\"x\":", 3)
	for i := range 70 {
		many += `{"` + strings.Repeat("n", i) + `":`
	}
	texts := append([]string{deep(maxDepth - 1), deep(maxDepth), strings.Repeat(`{"x":`, maxDepth+1), manyNames(80, 80), manyNames(80, 3), manyNames(80, 40), many}, orderTexts...)
	for _, text := range texts {
		compareOrder(t, []byte(text))
	}
	for i := range fullOrder { // cut, and with a byte replaced, at every place
		compareOrder(t, []byte(fullOrder[:i]))
		for _, c := range []byte("\"\\{}[]:,0x \x01\xff") {
			raw := []byte(fullOrder)
			raw[i] = c
			compareOrder(t, raw)
		}
	}
}

// manyNames returns an order with an unknown object of n names, the last of
// which repeats the one at place again.
func manyNames(n, again int) string {
	var b strings.Builder
	b.WriteString(`{"x":{`)
	for i := range n {
		b.WriteString(`"n` + strings.Repeat("n", i) + `":1,`)
	}
	return b.String() + `"n` + strings.Repeat("n", again) + `":2}}`
}

// FuzzParseOrderLikeReference: the same order or the same error.
func FuzzParseOrderLikeReference(f *testing.F) {
	for _, s := range orderTexts {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { compareOrder(t, raw) })
}

func BenchmarkParseOrder(b *testing.B) {
	raw := []byte(fullOrder)
	for name, parse := range map[string]func([]byte) (Order, error){"codec": ParseOrder, "reference": referenceParseOrder} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parse(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
