package schema_test

import (
	stdjson "encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/schema"
)

const full = `{"Id":"9","ProgramId":1042,"ProgramName":"鞋","WebsiteId":"7","LinkId":"L","SubId":"","OrderSn":"SN/1&A",` +
	`"ParentOrderSn":null,"OrderTime":"2026-11-01 00:10:00","OrdersPrice":12.50,"SiterCommission":"1.250","Currency":"CNY","Status":0,` +
	`"ConfirmPrice":"","Unknown":{"a":[1,2.50]},"Details":[{"ItemId":1,"ItemPrice":9.90,"OrdersPrice":"12.5","LbOrderStatus":21,"Colour":"red"}]}`

func parse(tb testing.TB, text string) schema.Order {
	tb.Helper()
	o, err := schema.ParseOrder([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func TestOrderRoundTrip(t *testing.T) {
	want := `{"Id":"9","ProgramId":"1042","ProgramName":"鞋","WebsiteId":"7","LinkId":"L","SubId":"","OrderSn":"SN/1&A",` +
		`"OrderTime":"2026-11-01 00:10:00","OrdersPrice":"12.50","SiterCommission":"1.250","Currency":"CNY","Status":"0",` +
		`"ConfirmPrice":"","Details":[{"ItemId":"1","ItemPrice":"9.90","OrdersPrice":"12.5","LbOrderStatus":"21","Colour":"red"}],"Unknown":{"a":[1,2.50]}}`
	o := parse(t, full)
	got, err := json.Marshal(o)
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	again := parse(t, string(got))
	if !reflect.DeepEqual(o, again) {
		t.Errorf("second reading differs: %+v", again)
	}
	if o.ParentOrderSn.IsZero() != true || o.SubID.IsZero() != false {
		t.Error("null is absent, and an empty text is not")
	}
}

// The standard library's encoding/json is what subscribers use.
func TestStandardLibrary(t *testing.T) {
	e := schema.NewEvent(schema.OrderCreated, schema.Data{Account: "main", Version: 1, ObservedAt: time.Unix(1, 0), Order: parse(t, full)})
	raw, err := stdjson.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var got schema.Event
	if err := stdjson.Unmarshal(raw, &got); err != nil || !reflect.DeepEqual(got, e) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, e)
	}
}

func TestParseOrderErrorsQuoteNothing(t *testing.T) {
	for name, text := range map[string]string{
		"amount": `{"OrderSn":"1","OrdersPrice":"Jane Doe"}`, "type": `{"OrderSn":{"x":"Jane Doe"}}`, "cut": `{"OrderSn":"Jane Doe`,
		"array": `["Jane Doe"]`, "duplicate": `{"SubId":"Jane Doe","SubId":"Jane Doe"}`, "line": `{"Details":[{"OrdersPrice":"Jane Doe"}]}`,
		"duplicate unknown": `{"Jane":1,"Jane":2}`, "huge exponent": `{"OrdersPrice":1e999}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := schema.ParseOrder([]byte(text)); err == nil || strings.Contains(err.Error(), "Doe") {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	tests := map[string]struct{ order, want string }{
		"good":               {full, ""},
		"unknown status":     {`{"OrderSn":"1","Status":"77"}`, ""},
		"no number":          {`{"ProgramId":"1"}`, "OrderSn: missing, so the order has no key"},
		"long number":        {`{"OrderSn":"` + strings.Repeat("x", 256) + `"}`, "parameter OrderSn: want at most 255 characters (the value has 256 bytes)"},
		"nine digits":        {`{"OrderSn":"1","ConfirmPrice":"123456789"}`, "ConfirmPrice: outside decimal(10,2)"},
		"three places":       {`{"OrderSn":"1","Details":[{"OrderCommission":"0.001"}]}`, "Details[0].OrderCommission: outside decimal(10,2)"},
		"zeros do not count": {`{"OrderSn":"1","OrdersPrice":"1.5000"}`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := parse(t, tt.order)
			got := ""
			if err := o.Check(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMoney(t *testing.T) {
	tests := []struct {
		text  string
		cents int64
		err   error
	}{
		{"", 0, nil}, {"0", 0, nil}, {"12.5", 1250, nil}, {"-0.01", -1, nil}, {"99999999.99", 9999999999, nil}, {"1E2", 10000, nil},
		{"1.2300", 123, nil}, {"0.005", 0, schema.ErrAmountRange}, {"100000000", 0, schema.ErrAmountRange},
	}
	for _, tt := range tests {
		m, err := schema.ParseMoney(tt.text)
		if err != nil || m.String() != tt.text {
			t.Fatalf("%q: %v, %q", tt.text, err, m)
		}
		if c, err := m.Cents(); c != tt.cents || !errors.Is(err, tt.err) {
			t.Errorf("%q: %d, %v", tt.text, c, err)
		}
	}
	for _, bad := range []string{"abc", "1,5", "1.", ".5", "--1", "1e", "1e100", "0x1", " 1", "Infinity", strings.Repeat("1", 40)} {
		if _, err := schema.ParseMoney(bad); !errors.Is(err, schema.ErrAmount) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if m := schema.NewMoney(decimal.RequireFromString("1.005")); m.String() != "1.01" {
		t.Errorf("half away from zero gives %s", m)
	}
	var absent schema.Money
	if absent.Equal(schema.MoneyFromCents(0)) || !absent.IsZero() || absent.Known() {
		t.Error("an absent amount is not 0.00")
	}
}

func TestStatusesHaveValueAndName(t *testing.T) {
	values := ""
	for _, s := range schema.SettlementStatuses() {
		byValue, err := schema.ParseSettlementStatus(s.Value())
		byName, err2 := schema.ParseSettlementStatus(s.String())
		if err != nil || err2 != nil || byValue != s || byName != s {
			t.Errorf("%s: %v %v", s, err, err2)
		}
		values += s.Value() + "=" + s.String() + " "
	}
	for _, s := range schema.LineStatuses() {
		byValue, err := schema.ParseLineStatus(s.Value())
		byName, err2 := schema.ParseLineStatus(s.String())
		if err != nil || err2 != nil || byValue != s || byName != s {
			t.Errorf("%s: %v %v", s, err, err2)
		}
		values += s.Value() + "=" + s.String() + " "
	}
	want := "-1=Invalid 0=Pending 1=Confirmed 2=Approved -1=Unknown 1=To be paid 2=Paid 21=In progress 3=Shipped 31=In delivery " +
		"32=Rejected 4=Received 41=Settling 5=Settled 6=Invalid 7=Completed 8=In dispute 81=Dispute resolved 82=Dispute failed 9=Refund 10=Return 11=System locked "
	if values != want {
		t.Errorf("got  %s\nwant %s", values, want)
	}
	for _, bad := range []string{"", "3", "300", "pending", "1.0"} {
		if _, err := schema.ParseSettlementStatus(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if got := schema.LineStatus(0).String(); got != "LineStatus(0)" {
		t.Error(got)
	}
}

func TestKeys(t *testing.T) {
	for _, k := range []schema.OrderKey{
		{"main", "1042", "SN-1"}, {"a.b", "", "x y>*"}, {"中", "=", "=41"}, {"A", "0", "\x00\xff"},
	} {
		got, err := schema.ParseOrderKey(k.String())
		if err != nil || got != k {
			t.Errorf("%q: %q, %v", k, got, err)
		}
		key, typ, err := schema.ParseSubject(k.Subject(schema.StatusChanged))
		if err != nil || key != k || typ != schema.StatusChanged {
			t.Errorf("%s: %v %v %v", k.Subject(schema.StatusChanged), key, typ, err)
		}
	}
	if got := (schema.OrderKey{"main", "10 42", "a.b"}).Subject(schema.OrderCreated); got != "orders.main.10=2042.a=2Eb.created" {
		t.Error(got)
	}
	for _, bad := range []string{"", "a.b", "a.b.c.d", "a..c", "a.b.=4", "a.b.=41", "a.b.=zz", "a.b.x y"} {
		if _, err := schema.ParseOrderKey(bad); !errors.Is(err, schema.ErrSubject) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestEventIDTellsKeysApart(t *testing.T) {
	seen := make(map[string]bool)
	for _, k := range []schema.OrderKey{{"a", "b", "c"}, {"ab", "", "c"}, {"a", "bc", ""}, {"", "ab", "c"}} {
		for v := range uint64(3) {
			id := schema.EventID(k, v)
			if len(id) != 32 || seen[id] {
				t.Errorf("%v %d: %s", k, v, id)
			}
			seen[id] = true
		}
	}
}

func TestParseEventRefuses(t *testing.T) {
	good := schema.NewEvent(schema.OrderCreated, schema.Data{Account: "main", Version: 1, Order: parse(t, full)})
	for name, spoil := range map[string]func(*schema.Event){
		"version of the specification": func(e *schema.Event) { e.SpecVersion = "0.3" },
		"type":                         func(e *schema.Event) { e.Type = "order.lost" },
		"version":                      func(e *schema.Event) { e.Data.Version = 0 },
		"account":                      func(e *schema.Event) { e.Data.Account = "" },
		"id":                           func(e *schema.Event) { e.Data.Version = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			e := good
			spoil(&e)
			raw, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := schema.ParseEvent(raw); err == nil {
				t.Error("taken")
			}
		})
	}
}

func TestParameterTypes(t *testing.T) {
	utc := time.UTC
	tests := []struct {
		name string
		err  error
		ok   bool
	}{
		{"255 characters", schema.ValidateString("P", strings.Repeat("中", 255)), true},
		{"256 characters", schema.ValidateString("P", strings.Repeat("中", 256)), false},
		{"not UTF-8", schema.ValidateString("P", "\xff"), false},
		{"decimal", schema.ValidateDecimal("P", "-12345678.90"), true},
		{"nine digits", schema.ValidateDecimal("P", "123456789"), false},
		{"three places", schema.ValidateDecimal("P", "1.234"), false},
		{"nothing behind the point", schema.ValidateDecimal("P", "1."), false},
		{"two signs", schema.ValidateDecimal("P", "-+1"), false},
		{"exponent", schema.ValidateDecimal("P", "1e+-5"), false},
		{"empty decimal", schema.ValidateDecimal("P", ""), false},
		{"integer", schema.ValidateInteger("P", "-1234567890123456"), true},
		{"17 digits", schema.ValidateInteger("P", "12345678901234567"), false},
		{"no integer", schema.ValidateInteger("P", "1.0"), false},
		{"currency", schema.ValidateCurrency("P", "CNY"), true},
		{"lower case", schema.ValidateCurrency("P", "cny"), false},
		{"no currency", schema.ValidateCurrency("P", "ZZZ"), false},
		{"zone", second(schema.ParseDateTime("P", "2026-11-01T10:00:00+08:00", utc)), true},
		{"no zone", second(schema.ParseDateTime("P", "2026-11-01T10:00:00", utc)), true},
		{"basic", second(schema.ParseDateTime("P", "20261101T100000Z", utc)), true},
		{"hour of one digit", second(schema.ParseDateTime("P", "2026-11-01T8:00:00Z", utc)), false},
		{"zone of a day", second(schema.ParseDateTime("P", "2026-11-01T08:00:00+24:00", utc)), false},
		{"zone of sixty minutes", second(schema.ParseDateTime("P", "2026-11-01T08:00:00+00:60", utc)), false},
		{"no date", second(schema.ParseDateTime("P", "yesterday", utc)), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p *schema.ParamError
			if (tt.err == nil) != tt.ok || !tt.ok && !errors.As(tt.err, &p) {
				t.Errorf("err = %v", tt.err)
			}
		})
	}
}

// fieldNames returns the JSON names of a struct's fields.
func fieldNames[T any]() []string {
	var names []string
	typ := reflect.TypeFor[T]()
	for i := range typ.NumField() {
		if name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func second(_ time.Time, err error) error { return err }

func TestParseTime(t *testing.T) {
	shanghai := time.FixedZone("", 8*60*60)
	got, err := schema.ParseTime(schema.NewText("2026-11-01 00:10:00"), shanghai)
	if err != nil || !got.Equal(time.Date(2026, 10, 31, 16, 10, 0, 0, time.UTC)) {
		t.Errorf("%v, %v", got, err)
	}
	for _, none := range []string{"", " ", "0000-00-00 00:00:00"} {
		if _, err := schema.ParseTime(schema.NewText(none), shanghai); !errors.Is(err, schema.ErrNoTime) {
			t.Errorf("%q: %v", none, err)
		}
	}
}

func TestRegressions(t *testing.T) {
	s := func(from, to schema.SettlementStatus) bool { return from.Regresses(to) }
	if !s(schema.Approved, schema.Pending) || !s(schema.Invalid, schema.Pending) || s(schema.Approved, schema.Invalid) || s(schema.Pending, schema.Approved) {
		t.Error("settlement")
	}
	if !schema.LineReceived.Regresses(schema.LinePaid) || schema.LinePaid.Regresses(schema.LineShipped) || schema.LineCompleted.Regresses(schema.LineRefund) {
		t.Error("line")
	}
}

// FuzzParseOrder: whatever can be read is written and read back the same.
func FuzzParseOrder(f *testing.F) {
	for _, s := range []string{full, `{}`, `{"Details":[]}`, `{"Details":null,"OrdersPrice":-1e2,"x":{"y":[null]}}`, `{"Status":true}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := schema.ParseOrder(raw)
		if err != nil {
			return
		}
		once, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := schema.ParseOrder(once)
		if err != nil {
			t.Fatalf("%v: %s", err, once)
		}
		twice, err := json.Marshal(again)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%v\n%s\n%s", err, once, twice)
		}
	})
}

// FuzzToken: every text has one token, and only that token is read back.
func FuzzToken(f *testing.F) {
	for _, s := range []string{"", "=", "a", "a b", "=41", "=2E", "中"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		token := schema.EscapeToken(s)
		if got, err := schema.UnescapeToken(token); err != nil || got != s {
			t.Fatalf("%q → %q → %q, %v", s, token, got, err)
		}
		if strings.ContainsAny(token, ".*> \t\r\n") || token == "" || !utf8.ValidString(token) {
			t.Fatalf("%q is no token", token)
		}
		if back, err := schema.UnescapeToken(s); err == nil && schema.EscapeToken(back) != s {
			t.Fatalf("%q has a second token %q", back, s)
		}
	})
}

// Hundredths give the text that the decimal of them has.
func TestMoneyFromCents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		cents := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-200, 200), rapid.Just(int64(math.MinInt64))).Draw(rt, "hundredths")
		if got, want := schema.MoneyFromCents(cents), schema.NewMoney(decimal.New(cents, -schema.MoneyScale)); got != want {
			rt.Errorf("got %s, want %s", got, want)
		}
	})
}
