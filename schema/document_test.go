package schema_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/orderwire/orderwire/schema"
)

// compiled returns the JSON Schema that subscribers are given.
func compiled(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	raw, err := os.ReadFile("event.schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("event.schema.json", doc); err != nil {
		tb.Fatal(err)
	}
	s, err := c.Compile("event.schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func validate(tb testing.TB, s *jsonschema.Schema, document []byte) error {
	tb.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		tb.Fatal(err)
	}
	return s.Validate(doc)
}

func TestEventsFollowTheJSONSchema(t *testing.T) {
	s := compiled(t)
	created := schema.NewEvent(schema.OrderCreated, schema.Data{
		Account: "main", TimeZone: "Asia/Shanghai", Version: 1, ObservedAt: time.Now(), Order: parse(t, full),
	})
	changed := schema.NewEvent(schema.StatusChanged, schema.Data{
		Account: "main", TimeZone: "Asia/Shanghai", Version: 2, ObservedAt: time.Now(), Order: parse(t, full), Regression: true,
		Changes: []schema.Change{{Path: "/Status", From: []byte(`"1"`), To: []byte(`"0"`)}, {Path: "/SubId", From: []byte(`"x"`)}},
	})
	for _, e := range []schema.Event{created, changed} {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, raw); err != nil {
			t.Errorf("%s: %v\n%s", e.Type, err, raw)
		}
		for name, spoiled := range map[string]string{
			"type":   strings.Replace(string(raw), `"type":"`, `"type":"x`, 1),
			"amount": strings.Replace(string(raw), `"12.50"`, `"12,50"`, 1),
			"number": strings.Replace(string(raw), `"12.50"`, `12.50`, 1),
		} {
			if validate(t, s, []byte(spoiled)) == nil {
				t.Errorf("%s with a spoiled %s is taken", e.Type, name)
			}
		}
	}
}

// The document names every field that the Go types have.
func TestJSONSchemaNamesEveryField(t *testing.T) {
	raw, err := os.ReadFile("event.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(fieldNames[schema.Order](), fieldNames[schema.OrderLine]()...) {
		if !strings.Contains(string(raw), `"`+name+`": {`) {
			t.Errorf("%s is missing", name)
		}
	}
}
