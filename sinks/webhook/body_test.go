package webhook

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/orderwire/orderwire/schema"
)

func TestBody(t *testing.T) {
	t.Parallel()
	e := entry(t, 1)
	body, err := Body(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"order.created","timestamp":"2026-03-01T08:00:00Z","data":{"id":"` + e.Event.ID +
		`","account":"main","time_zone":"Asia/Shanghai","version":1,"observed_at":"2026-03-01T08:00:00Z",` +
		`"order":{"ProgramId":"77","SubId":"jane.doe@example.com","OrderSn":"SN-1","OrdersPrice":"12.50","Status":"1"},"changes":[]}}`
	if string(body) != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

func TestBodyReadsAsMessage(t *testing.T) {
	t.Parallel()
	e := entry(t, 3)
	body, err := Body(e)
	if err != nil {
		t.Fatal(err)
	}
	want := Message{e.Event.Type, e.Event.Time, MessageData{e.Event.ID, e.Event.Data}}
	for name, read := range map[string]func([]byte, any) error{
		"encoding/json": stdjson.Unmarshal,
		"json v2":       func(b []byte, v any) error { return json.Unmarshal(b, v) },
	} {
		var m Message
		if err := read(body, &m); err != nil || !reflect.DeepEqual(m, want) {
			t.Errorf("%s: %v, got %+v, want %+v", name, err, m, want)
		}
	}
}

// A field that this version of the schema does not know is delivered as it is.
func TestBodyKeepsWhatWasStored(t *testing.T) {
	t.Parallel()
	raw := `{"id":"1", "type":"order.updated","time":"2026-03-01T08:00:00+00:00","extra":1,"data": { "order":{"A" : 1.50, "B":"\u00e9"}, "later":null}}`
	body, err := Body(&schema.Entry{Raw: []byte(raw)})
	want := `{"type":"order.updated","timestamp":"2026-03-01T08:00:00+00:00","data":{"id":"1","order":{"A" : 1.50, "B":"\u00e9"}, "later":null}}`
	if err != nil || string(body) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, body, want)
	}
}

func TestBodyOfAnUnreadableEvent(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "x", `{"id":"1"}`, `{"id":"1","type":"t","data":{}}`, `{"id":"1","type":"t","time":"2","data":[]}`, `{"id":1,"type":"t","time":"2","data":{}}`} {
		if _, err := Body(&schema.Entry{Raw: []byte(raw)}); !errors.Is(err, ErrEvent) {
			t.Errorf("%s: got %v", raw, err)
		}
	}
	broken := entry(t, 1)
	broken.Raw = broken.Raw[:40]
	err := endpoint(t, "https://example.com").Deliver(t.Context(), broken)
	var failed *DeliveryError
	if !errors.As(err, &failed) || !failed.Permanent() {
		t.Errorf("got %v, want a permanent error", err)
	}
}

// An entry that was read before is split in a shorter way, to the same end.
func FuzzBodyOfAReadEntry(f *testing.F) {
	stored := entry(f, 2).Raw
	f.Add(stored)
	spaced := bytes.ReplaceAll(bytes.ReplaceAll(stored, []byte(`,"`), []byte(",\n\t\"")), []byte(`":`), []byte(`" : `))
	f.Add(append(append([]byte(" \r\n"), spaced...), '\n'))
	f.Add(bytes.TrimSpace(spaced))
	f.Add(bytes.Replace(stored, []byte(`"time"`), []byte(`"\u0074ime"`), 1))
	f.Add(bytes.Replace(stored, []byte(`{"specversion"`), []byte(`{"x":{"id":"1","data":["}",{"a\\\"":"\\\\"}]},"n":-1.5e3,"t":true,"e":[],"specversion"`), 1))
	f.Add(bytes.Replace(stored, []byte(`,"data":{`), []byte(`,"data" : { `), 1))
	f.Add(append(bytes.Replace(stored, []byte(`{"specversion":"1.0",`), []byte(`{`), 1)[:len(stored)-len(`"specversion":"1.0",`)-1], `,"specversion":"1.0"}`...))
	f.Add(append(stored[:len(stored)-1:len(stored)-1], `,"x":{"y":{}}}`...))
	f.Add(append(stored[:len(stored)-1:len(stored)-1], " } \n"...))
	f.Add(bytes.Replace(stored, []byte(`jane`), []byte(`\"}\\\"{[,:`), 1))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e := &schema.Entry{Raw: raw}
		slow, slowErr := Body(e)
		var err error
		if e.Event, err = schema.ParseEvent(raw); err != nil {
			return // it does not come from the log
		}
		quick, quickErr := Body(e)
		if !bytes.Equal(quick, slow) || !errors.Is(quickErr, slowErr) {
			t.Errorf("%q\nread:   %s, %v\nunread: %s, %v", raw, quick, quickErr, slow, slowErr)
		}
	})
}

func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"id":"1","type":"t","time":"2","data":{}}`))
	f.Add([]byte(`{"id":"1","type":"t","time":"2","data":{ }}`))
	f.Add(entry(f, 2).Raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		body, err := Body(&schema.Entry{Raw: raw})
		if err == nil && !stdjson.Valid(body) {
			t.Errorf("%q gives %q, which is no JSON", raw, body)
		}
	})
}
