package openapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/openapi"
)

func texts[T ~[]byte](values []T) []string {
	all := []string{}
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

func TestSplitOrdersShapes(t *testing.T) {
	tests := []struct {
		name, data string
		records    []string
		total      int
	}{
		{"absent", ``, nil, -1},
		{"null", ` null `, nil, -1},
		{"empty object", ` { } `, nil, -1},
		{"empty array", `[ ]`, nil, -1},
		{"array", ` [ {"a": 1} ,{} ] `, []string{`{"a": 1}`, `{}`}, -1},
		{"brackets in strings", `[{"a":"]}\"[{\\"},{"b":"\u005d"}]`, []string{`{"a":"]}\"[{\\"}`, `{"b":"\u005d"}`}, -1},
		{"nested", `[{"a":[{"b":[]}]}]`, []string{`{"a":[{"b":[]}]}`}, -1},
		{"List and Total", `{"Total":7,"List":[{"a":1}]}`, []string{`{"a":1}`}, 7},
		{"escaped name", `{"L\u0069st":[{"a":1}]}`, []string{`{"a":1}`}, -1},
		{"List is null", `{"List":null,"Total":"0"}`, nil, 0},
		{"List is an empty object", `{"List":{ },"TotalCount":" 12 "}`, nil, 12},
		{"List is empty behind the last page", `{"List":[],"Total":5}`, nil, 5},
		{"List before another", `{"List":[],"Rows":[{"a":1}]}`, nil, -1},
		{"List after another", `{"Rows":[{"a":1}],"List":[{"b":2}]}`, []string{`{"b":2}`}, -1},
		{"lower case", `{"list":[{"a":1}],"total":1}`, []string{`{"a":1}`}, 1},
		{"Items", `{"Items":[{"a":1}],"Count":3}`, []string{`{"a":1}`}, 3},
		{"the first with objects", `{"Ids":[1,2],"None":[],"Rows":[{"a":1}],"More":[{"b":1}]}`, []string{`{"a":1}`}, -1},
		{"the best total", `{"Count":1,"Total":9,"total":3,"Rows":[]}`, nil, 9},
		{"the best total first", `{"Total":9,"Count":1,"Rows":[]}`, nil, 9},
		{"a total that is none", `{"Total":"many","List":[]}`, nil, -1},
		{"a negative total", `{"Total":-4,"List":[]}`, nil, -1},
		{"total 0 without a list", `{"Total":0,"Page":1}`, nil, 0},
		{"a list and other objects", `{"Pager":{"Rows":[{"x":1}]},"List":[{"a":1}]}`, []string{`{"a":1}`}, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			page, err := openapi.SplitOrders([]byte(tt.data))
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(page.Records); !slices.Equal(got, tt.records) || page.Total != tt.total {
				t.Errorf("got %q of %d, want %q of %d", got, page.Total, tt.records, tt.total)
			}
		})
	}
}

func TestSplitOrdersRefuses(t *testing.T) {
	tests := []struct {
		name, data string
		kind       openapi.BodyKind
		offset     int64
	}{
		{"a string", ` "none"`, openapi.BodyShape, 1},
		{"false", `false`, openapi.BodyShape, 0},
		{"numbers", ` [1,2]`, openapi.BodyShape, 1},
		{"a null among records", `[{},null]`, openapi.BodyShape, 0},
		{"no list", `{"Page":1}`, openapi.BodyShape, 0},
		{"a total without a list", `{"Total":3}`, openapi.BodyShape, 0},
		{"one order", `{"OrderSn":"1","Details":[{"ItemId":"1"}]}`, openapi.BodyShape, 0},
		{"keyed List", `{"List":{"1":{}}}`, openapi.BodyShape, 8},
		{"List is a text", `{"List": ""}`, openapi.BodyShape, 9},
		{"List of numbers", `{"List":[3]}`, openapi.BodyShape, 8},
		{"half a record", `[{"a":1},{"b":`, openapi.BodyCut, 14},
		{"half a string", `[{"a":"xyz`, openapi.BodyCut, 10},
		{"half an escape", `[{"a":"\u00`, openapi.BodyCut, 11},
		{"half a literal", `[{"a":tru`, openapi.BodyCut, 9},
		{"half a number", `[{"a":-`, openapi.BodyCut, 7},
		{"an open array", `[{}`, openapi.BodyCut, 3},
		{"an open object", `{"List":[]`, openapi.BodyCut, 10},
		{"the wrong bracket", `[{]`, openapi.BodySyntax, 2},
		{"a comma too many", `[{},]`, openapi.BodySyntax, 4},
		{"a comma too few", `[{}{}]`, openapi.BodySyntax, 3},
		{"no colon", `[{"a" 1}]`, openapi.BodySyntax, 6},
		{"no name", `[{a:1}]`, openapi.BodySyntax, 2},
		{"a leading zero", `[{"a":01}]`, openapi.BodySyntax, 7},
		{"a bare point", `[{"a":1.}]`, openapi.BodySyntax, 8},
		{"a bare exponent", `[{"a":1e+}]`, openapi.BodySyntax, 9},
		{"a bare minus", `[{"a":-}]`, openapi.BodySyntax, 7},
		{"a wrong escape", `[{"a":"\x"}]`, openapi.BodySyntax, 8},
		{"a wrong hex digit", `[{"a":"\u00g0"}]`, openapi.BodySyntax, 11},
		{"a control character", "[{\"a\":\"long enough\n\"}]", openapi.BodySyntax, 18},
		{"a wrong literal", `[{"a":nil}]`, openapi.BodySyntax, 7},
		{"data behind", `[{}] x`, openapi.BodySyntax, 5},
		{"too deep", strings.Repeat("[", 100) + strings.Repeat("]", 100), openapi.BodySyntax, 63},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			page, err := openapi.SplitOrders([]byte(tt.data))
			var body *openapi.BodyError
			if !errors.As(err, &body) || page.Records != nil {
				t.Fatalf("got %v, %v; want a BodyError", page, err)
			}
			if body.Kind != tt.kind || body.Offset != tt.offset {
				t.Errorf("got %v; want %s at byte %d", err, tt.kind, tt.offset)
			}
		})
	}
}

func TestSplitOrdersDigest(t *testing.T) {
	digest := func(data string) uint64 {
		page, err := openapi.SplitOrders([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return page.Digest
	}
	first := digest(`{"List":[{"a":1}],"Page":1}`)
	if repeated := digest(`{"List":[{"a":1}],"Page":2}`); repeated != first {
		t.Error("a repeated list has another digest")
	}
	if other := digest(`{"List":[{"a":2}],"Page":1}`); other == first {
		t.Error("another list has the same digest")
	}
	if digest(`null`) != 0 {
		t.Error("no list has a digest")
	}
}

func TestRecordsDoNotRunIntoEachOther(t *testing.T) {
	data := []byte(`[{"a":1},{"b":2}]`)
	page, err := openapi.SplitOrders(data)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(page.Records[0], "xxxxxxxx"...)
	if string(data) != `[{"a":1},{"b":2}]` {
		t.Errorf("appending to a record wrote into the next: %s", data)
	}
}

// The scanner reads strings eight bytes at a time: every byte, at every place.
func TestEveryByteInAString(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for c := range 256 {
				text := bytes.Repeat([]byte("a"), length)
				text[at] = byte(c)
				data := slices.Concat([]byte(`[{"`), text, []byte(`":1}]`))
				if _, err := openapi.SplitOrders(data); (err == nil) != json.Valid(data) {
					t.Fatalf("byte %#02x at %d of %d: %v", c, at, length, err)
				}
			}
		}
	}
}

// FuzzSplitOrders compares with encoding/json: both agree on what is JSON, and
// on the bytes of every record.
func FuzzSplitOrders(f *testing.F) {
	for _, s := range []string{
		``, `null`, `{}`, `[]`, `[{"a":"\u00e9\n","b":[1,-2.5e+3,true,null]}, {"c":{}}]`, `{"List":[{"a":1}],"Total":"2"}`,
		`{"Rows":[{"a":1}],"Count":3}`, `[{"a":01}]`, `[{]`, "[\"\xff\"]", `{"List":{}}`, `[{"a":"]}"}`, " [ { } ]\t", `[{"x":"12345678\"90"}]`, `000`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		page, err := openapi.SplitOrders(data)
		var body *openapi.BodyError
		malformed := errors.As(err, &body) && (body.Kind == openapi.BodyCut || body.Kind == openapi.BodySyntax)
		if tooDeep(data) || len(data) == 0 {
			return
		}
		if valid := json.Valid(data); valid && malformed || !valid && err == nil {
			t.Fatalf("valid %v, but %v", valid, err) // a wrong shape may be found before a wrong byte
		}
		var want []json.RawMessage
		if err != nil || json.Unmarshal(list(data), &want) != nil {
			return
		}
		if got := texts(page.Records); !slices.Equal(got, texts(want)) {
			t.Fatalf("got %q, want %q", got, texts(want))
		}
	})
}

// list returns the list that encoding/json finds, when it is easy to find.
func list(data []byte) []byte {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return data
	}
	return object["List"]
}

func tooDeep(data []byte) bool {
	return bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) >= 60
}

// pageOf returns Data with n records of about 1.2 KB, and its size.
func pageOf(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"Total":5000,"List":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, recordText, 100000+i, i)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

const recordText = `{"Id":"%d","ProgramId":"1204","ProgramName":"某品牌官方商城 CN","WebsiteId":"1026","LinkId":"88213",` +
	`"SubId":"newsletter-2024-06","OrderSn":"E2024061812%06d","ParentOrderSn":"P20240618","OrderTime":"2024-06-18 12:33:10",` +
	`"OrdersPrice":"1299.00","SiterCommission":"64.95","Currency":"CNY","Status":"0","ConfirmPrice":"","ConfirmSiterCommission":"",` +
	`"ChargeCurrency":"CNY","ChargeTime":"0000-00-00 00:00:00","Details":[` + lineText + `,` + lineText + `]}`

const lineText = `{"GoodsCate":"1420","ItemCate":"1420","ItemCateName":"户外运动","ItemId":"662318",` +
	`"ItemName":"Trail running shoes 42 \"blue\"","ItemPrice":"649.50","ItemCount":"1","OrdersPrice":"649.50","OrderStatus":"已付款",` +
	`"OrderCommission":"32.48","OrderSn":"E2024061812","ParentOrderSn":"P20240618",` +
	`"ItemImg":"https:\/\/img.example.com\/2024\/06\/662318.jpg","ShopTitle":"Outdoor","LbOrderStatus":"2"}`

func BenchmarkSplitOrders(b *testing.B) {
	data := pageOf(200)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	records := 0
	for b.Loop() {
		page, err := openapi.SplitOrders(data)
		if err != nil || len(page.Records) != 200 {
			b.Fatal(err)
		}
		records += len(page.Records)
	}
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
}
