package network_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/orderwire/orderwire/sources/network"
)

var statusRow = regexp.MustCompile(`(?m)^\| (\d+) \| (\d+) \| (.*) \|$`)

// The document has every Status with its HTTP status and meaning, and the
// answers with that HTTP status may hold it.
func TestDocumentHasEveryStatus(t *testing.T) {
	c := loadContract(t)
	told := map[string]bool{}
	for _, row := range statusRow.FindAllString(c.doc.Info.Description, -1) {
		told[row] = true
	}
	want := map[int][]int{}
	for _, s := range network.Statuses() {
		row := fmt.Sprintf("| %d | %d | %s |", s.Status, s.HTTP, s.Meaning)
		if !told[row] {
			t.Errorf("the document does not have: %s", row)
		}
		delete(told, row)
		want[s.HTTP] = append(want[s.HTTP], int(s.Status))
	}
	for row := range told {
		t.Errorf("only the document has: %s", row)
	}
	for path, item := range c.doc.Paths.Map() {
		if item.Post != nil {
			if got := statusesOf(item.Post); !maps.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%s answers with %v; want %v", path, got, want)
			}
		}
	}
}

// statusesOf are the values of Status that an operation's answers may hold, in
// ascending order, by HTTP status.
func statusesOf(o *openapi3.Operation) map[int][]int {
	all := map[int][]int{}
	for code, response := range o.Responses.Map() {
		var http int
		_, _ = fmt.Sscan(code, &http)
		schema := response.Value.Content["application/json"].Schema.Value
		for _, s := range append(schema.OneOf, &openapi3.SchemaRef{Value: schema}) {
			status := s.Value.Properties["Status"]
			if status == nil {
				continue
			}
			for _, value := range append(status.Value.Enum, status.Value.Const) {
				if number, ok := value.(float64); ok {
					all[http] = append(all[http], int(number))
				}
			}
		}
		slices.Sort(all[http])
	}
	return all
}
