package openapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/openapi"
)

func TestParseEnvelope(t *testing.T) {
	tests := []struct {
		name, body string
		want       openapi.Envelope
	}{
		{"numbers", `{"Status":200,"Message":"ok","Data":{"a":1}}`, openapi.Envelope{Status: 200, Message: "ok", Data: []byte(`{"a":1}`)}},
		{"strings", ` { "Status" : " -3 ", "Data" : [ 1 ] } `, openapi.Envelope{Status: -3, Data: []byte(`[ 1 ]`)}},
		{"nothing", `{}`, openapi.Envelope{NoStatus: true}},
		{"nulls", `{"Status":null,"Message":null,"Data":null}`, openapi.Envelope{NoStatus: true, Data: []byte(`null`)}},
		{"other members", `{"Time":1,"Status":0,"status":9,"Extra":{"Status":7}}`, openapi.Envelope{}},
		{"the last counts", `{"Status":0,"Status":"5","Data":1,"Data":2}`, openapi.Envelope{Status: 5, Data: []byte(`2`)}},
		{"escapes", `{"St\u0061tus":1,"Message":"\u4e2d\n\"x\""}`, openapi.Envelope{Status: 1, Message: "中\n\"x\""}},
		{"a message of bad UTF-8", "{\"Status\":1,\"Message\":\"a\xffb\"}", openapi.Envelope{Status: 1, Message: "a\uFFFDb"}},
		{"a message that is a number", `{"Status":1,"Message":17}`, openapi.Envelope{Status: 1, Message: "17"}},
		{"a message that is a list", `{"Status":1,"Message":["x"]}`, openapi.Envelope{Status: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := openapi.ParseEnvelope([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != tt.want.Status || got.NoStatus != tt.want.NoStatus || got.Message != tt.want.Message ||
				string(got.Data) != string(tt.want.Data) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestParseEnvelopeRefuses(t *testing.T) {
	tests := []struct {
		name, body string
		kind       openapi.BodyKind
		offset     int64
	}{
		{"empty", ``, openapi.BodyCut, 0},
		{"white space", "\n ", openapi.BodyCut, 2},
		{"HTML", "\n<!DOCTYPE html><html>", openapi.BodyHTML, 1},
		{"an array", `[]`, openapi.BodyShape, 0},
		{"a string", ` "busy"`, openapi.BodyShape, 1},
		{"plain text", `Service busy`, openapi.BodySyntax, 0},
		{"a status of words", `{"Status":"fine"}`, openapi.BodyShape, 10},
		{"a fraction", `{"Status":1.5}`, openapi.BodyShape, 10},
		{"a huge status", `{"Status":99999999999999999999}`, openapi.BodyShape, 10},
		{"a boolean", `{"Status":true}`, openapi.BodyShape, 10},
		{"half of it", `{"Status":0,"Data":[{"OrderSn":"E20`, openapi.BodyCut, 35},
		{"broken message", `{"Message":"\q"}`, openapi.BodySyntax, 13},
		{"broken extra", `{"X":tru}`, openapi.BodySyntax, 8},
		{"data behind", `{} {}`, openapi.BodySyntax, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openapi.ParseEnvelope([]byte(tt.body))
			var body *openapi.BodyError
			if !errors.As(err, &body) || body.Kind != tt.kind || body.Offset != tt.offset {
				t.Errorf("got %v; want %s at byte %d", err, tt.kind, tt.offset)
			}
			if body.Unwrap() == nil {
				t.Error("no details")
			}
		})
	}
}

func TestEncodeEnvelope(t *testing.T) {
	tests := []struct {
		e    openapi.Envelope
		want string
	}{
		{openapi.Envelope{}, `{"Status":0,"Message":""}`},
		{openapi.Envelope{Status: 1001, Message: "bad <sign> & key"}, `{"Status":1001,"Message":"bad <sign> & key"}`},
		{openapi.Envelope{Status: 200, Data: []byte(`{"List":[],"Total":0}`)}, `{"Status":200,"Message":"","Data":{"List":[],"Total":0}}`},
	}
	for _, tt := range tests {
		got, err := tt.e.Encode()
		if err != nil || string(got) != tt.want {
			t.Errorf("got %s, %v; want %s", got, err, tt.want)
		}
	}
	_, err := openapi.Envelope{Data: []byte(`{"secret`)}.Encode()
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("half a document: %v", err)
	}
}

// FuzzParseEnvelope compares with encoding/json, and reads again what Encode
// writes.
func FuzzParseEnvelope(f *testing.F) {
	for _, s := range []string{
		`{"Status":0,"Message":"ok","Data":[{"a":1}]}`, `{"Status":"200","Data":null}`, `{"Data":{"List":[]}}`,
		`{"Status":1.5}`, `{"Message":"\ud83d"}`, `<html>`, `[]`, `{"Status":1`, "{\"Message\":\"\xff\"}", `{"Data":1,"Data":[2]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := openapi.ParseEnvelope(data)
		if tooDeep(data) {
			return
		}
		var object map[string]json.RawMessage
		isObject := json.Unmarshal(data, &object) == nil && object != nil
		if err == nil && (!isObject || !bytes.Equal(e.Data, object["Data"])) {
			t.Fatalf("Data %q, want %q", e.Data, object["Data"])
		}
		if object["Status"] == nil && isObject != (err == nil) {
			t.Fatalf("an object %v, but %v", isObject, err)
		}
		if err == nil {
			checkRoundTrip(t, e)
		}
	})
}

func checkRoundTrip(t *testing.T, e openapi.Envelope) {
	t.Helper()
	out, err := e.Encode()
	if err != nil {
		return // Data has bad UTF-8 or a duplicate name, which we do not send
	}
	again, err := openapi.ParseEnvelope(out)
	if err != nil || again.Status != e.Status || again.Message != e.Message {
		t.Fatalf("%+v became %+v, %v", e, again, err)
	}
}
