package schema

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func compareEvent(t failer, raw []byte) {
	t.Helper()
	got, err := ParseEvent(raw)
	want, wantErr := referenceParseEvent(raw)
	sameReading(t, raw, got, err, want, wantErr)
	var loose Event // without the checks, which refuse most of what a fuzzer writes
	err = loose.parse(raw)
	want, wantErr = referenceReadEvent(raw)
	if err != nil {
		loose = Event{}
	}
	sameReading(t, raw, loose, err, want, wantErr)
}

// compareWriting compares what is written, and whether it is, with the
// reference. What cannot be written leaves the buffer as it was.
func compareWriting(t failer, e *Event) {
	t.Helper()
	got, err := e.AppendJSON([]byte("before"))
	want, wantErr := referenceAppendEvent(e)
	sameWriting(t, got, err, want, wantErr)
	got, err = e.Data.Order.AppendJSON([]byte("before"))
	want, wantErr = referenceAppendOrder(&e.Data.Order)
	sameWriting(t, got, err, want, wantErr)
}

func sameWriting(t failer, got []byte, err error, want []byte, wantErr error) {
	t.Helper()
	rest, ok := bytes.CutPrefix(got, []byte("before"))
	switch {
	case !ok || err != nil && len(rest) > 0:
		t.Fatalf("the buffer holds %q", got)
	case (err == nil) != (wantErr == nil):
		t.Fatalf("error %v, want %v", err, wantErr)
	case err == nil && !bytes.Equal(rest, want):
		t.Fatalf("got  %s\nwant %s", rest, want)
	}
}

// fullEvent is an event of fullOrder, about 1.7 KB.
func fullEvent(tb testing.TB) Event {
	tb.Helper()
	o, err := ParseOrder([]byte(fullOrder))
	if err != nil {
		tb.Fatal(err)
	}
	return NewEvent(StatusChanged, Data{
		Account: "main", TimeZone: "Asia/Shanghai", Version: 3, ObservedAt: time.Date(2026, 11, 1, 2, 3, 4, 567891000, time.UTC), Order: o,
		Changes: []Change{{Path: "/Status", From: []byte(`"1"`), To: []byte(`"0"`)}, {Path: "/SubId", To: []byte(`"spring-sale"`)}},
	})
}

func fullDocument(tb testing.TB) []byte {
	tb.Helper()
	e := fullEvent(tb)
	raw, err := referenceAppendEvent(&e)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// eventTexts are members of an event, of its data and of a change that have
// tripped, or could trip, a reader.
func eventTexts() []string {
	scalars := []string{`null`, `"x"`, `"\u0078"`, `12`, `-0`, `01`, `1.0`, `18446744073709551615`, `18446744073709551616`, `true`, `false`, `fals`, `{}`, `[]`, `{"a":1,}`, `[1,]`, `[1,}`, `{tru:1}`, `{1.:1}`,
		`{{}:1}`, `{"a":1,"a":2}`, `{"a":{"b":[{"c":1,"\u0063":2}]}}`, `[1 2]`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a":}`, `[}`, `{]`, `{,}`, `[,]`, `[:`, `}`, `]`, `,`, `:`, `-`, `1.`, `"`, `"\`, ``, "\"\xff\"",
		`"2026-11-01T00:00:00Z"`, `"2026-11-01T00:00:00.120Z"`, `"2026-02-30T00:00:00Z"`, `"2026-11-01T00:00:00+08:00"`, `"2026-11-01T00:00:00+24:00"`, `"2026-11-01T00:00:00,5Z"`, `"2026-11-01T1:00:00Z"`,
		`"2026-11-01T00:00:00\u005a"`, `"2026-11-01T00:00:00.1234567891Z"`, `"2026-11-01"`, `""`, `[null]`, `[{}]`, `[{"path":"/x","from":null,"to": [1 , 2]}]`, `[{"path":1}]`, `[{"from":1,"from":2}]`, `[{"x":[1,]}]`,
		`[{"path":[1,}]`, `[1]`, `[{},]`, `{"OrdersPrice":"x"}`, `{"Details":[{},{},{},{},{},{},{},{},{},{},{},{"OrdersPrice":"x"},{}]}`, `{"Details":[{"Colour" : "\u0041","OrdersPrice":1}],"x":[ 1 ]}`}
	texts := []string{``, `null`, `[]`, `{}`, `{"data":{"x":1,"x":2}}`, `{"data":{"x":[1,`, `{"data":{"account":"a","\u0061ccount":"b"}}`, `{"x":1,"\u0078":2}`, `{"ext" : {"a" : 1} }`}
	for _, s := range scalars {
		for _, name := range []string{"specversion", "type", "time", "data", "ext", "Data"} {
			texts = append(texts, `{"`+name+`":`+s+`}`)
		}
		for _, name := range []string{"account", "version", "observed_at", "regression", "order", "changes", "ext"} {
			texts = append(texts, `{"data":{"`+name+`" : `+s+` }}`)
		}
	}
	return append(texts, `{"data":{"x":`+strings.Repeat("[", maxDepth-2)+strings.Repeat("]", maxDepth-2)+`}}`, `{"data":{"x":`+strings.Repeat(`{"a":`, maxDepth))
}

func TestParseEventLikeReference(t *testing.T) {
	for _, text := range eventTexts() {
		compareEvent(t, []byte(text))
	}
	whole := fullDocument(t)
	compareEvent(t, whole)
	for i := range whole {
		compareEvent(t, whole[:i])
		for _, c := range []byte("\"{]:,1\xff") {
			raw := slices.Clone(whole)
			raw[i] = c
			compareEvent(t, raw)
		}
	}
}

func FuzzParseEventLikeReference(f *testing.F) {
	f.Add(fullDocument(f))
	for _, s := range eventTexts() {
		if len(s) < 1000 {
			f.Add([]byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) { compareEvent(t, raw) })
}

// rawTexts are values of Extra, Extensions and changes.
var rawTexts = []string{
	``, `{}`, ` { } `, `null`, `[]`, `"x"`, `{"a":1}`, "{ \"a\" : [ 1.50 , \"x y\" ] ,\n\"b\":{}}", `{"a":"\/","\u0062":"\u0041\ud83d\ude00\u001F\u001f\u000a\n"}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
	`{"Id":1}`, `{"\u0049d":1}`, `{"SubId":1,"SubId":2}`, `{"Details":1}`, `{"data":1}`, `{"a":1,}`, `{"a":01}`, `{"a":1}x`, `{"a":1} `, `{"a"`, `{1:2}`, "{\"a\":\"\xff\"}", "{\"\xff\":1}", `{"a":{"b":1,"b":2}}`,
	`{"a":"<&>` + "\u2028" + `\u007f"}`, `{"ItemId":1}`, `true`, `1e5`, ` -1.50 `, `"\u00e9"`, `{"a":[[],{}]}`,
}

func TestAppendEventLikeReference(t *testing.T) {
	full := fullEvent(t)
	compareWriting(t, &full)
	compareWriting(t, &Event{})
	for name, spoil := range spoilers {
		t.Run(name, func(t *testing.T) {
			e := fullEvent(t)
			e.Data.Order.Details = slices.Clone(e.Data.Order.Details)
			spoil(&e)
			compareWriting(t, &e)
		})
	}
	for _, raw := range append(rawTexts, strings.Repeat("[", maxDepth-4)+strings.Repeat("]", maxDepth-4), strings.Repeat("[", maxDepth-3)+strings.Repeat("]", maxDepth-3)) {
		for _, place := range slices.Sorted(maps.Keys(rawPlaces)) {
			e := fullEvent(t)
			e.Data.Order.Details = slices.Clone(e.Data.Order.Details)
			rawPlaces[place](&e, raw)
			compareWriting(t, &e)
		}
	}
}

var rawPlaces = map[string]func(e *Event, raw string){
	"order":       func(e *Event, raw string) { e.Data.Order.Extra = []byte(raw) },
	"empty order": func(e *Event, raw string) { e.Data.Order = Order{Extra: []byte(raw)} },
	"line":        func(e *Event, raw string) { e.Data.Order.Details[1].Extra = []byte(raw) },
	"event":       func(e *Event, raw string) { e.Extensions = []byte(raw) },
	"from":        func(e *Event, raw string) { e.Data.Changes[0].From = []byte(raw) },
	"to":          func(e *Event, raw string) { e.Data.Changes[1].To = []byte(raw) },
}

var spoilers = map[string]func(*Event){
	"subject not UTF-8": func(e *Event) { e.Subject = "a\xffb" },
	"text not UTF-8":    func(e *Event) { e.Data.Order.SubID = NewText("\xe4\xb8") },
	"line not UTF-8":    func(e *Event) { e.Data.Order.Details[1].ItemName = NewText("\"\xff") },
	"year 10000":        func(e *Event) { e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
	"year -1":           func(e *Event) { e.Data.ObservedAt = time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC) },
	"year 9999":         func(e *Event) { e.Time = time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC) },
	"zone":              func(e *Event) { e.Time = e.Time.In(time.FixedZone("", 8*3600)) },
	"zone of 24 hours":  func(e *Event) { e.Time = e.Time.In(time.FixedZone("", 24*3600)) },
	"zone with seconds": func(e *Event) { e.Time = e.Time.In(time.FixedZone("", -3601)) },
	"no changes":        func(e *Event) { e.Data.Changes = nil },
	"no lines":          func(e *Event) { e.Data.Order.Details = nil },
	"empty lines":       func(e *Event) { e.Data.Order.Details = []OrderLine{} },
	"regression":        func(e *Event) { e.Data.Regression, e.Data.PreviousID = true, "" },
	"every byte": func(e *Event) {
		e.Data.TimeZone = "\x00\x01\b\t\n\v\f\r\x1f !\"#&'<>/\\[]`\x7f\u0080\u2028\u2029\ufffd\U0001f600"
	},
	"quote far behind":   func(e *Event) { e.Data.Account = strings.Repeat("a", 100) + `"` },
	"null value":         func(e *Event) { e.Data.Changes[0].From = []byte("null") },
	"absent amount zero": func(e *Event) { e.Data.Order.ConfirmPrice = Money{} },
}

func BenchmarkParseEvent(b *testing.B) {
	raw := fullDocument(b)
	for name, parse := range map[string]func([]byte) (Event, error){"codec": ParseEvent, "reference": referenceParseEvent} {
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

func BenchmarkAppendEvent(b *testing.B) {
	e := fullEvent(b)
	forms := map[string]func(*Event) ([]byte, error){
		"codec": func(e *Event) ([]byte, error) { return e.AppendJSON(nil) }, "reference": referenceAppendEvent,
	}
	buf := make([]byte, 0, 4096)
	forms["codec, buffer kept"] = func(e *Event) ([]byte, error) { return e.AppendJSON(buf) }
	for name, write := range forms {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := write(&e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
