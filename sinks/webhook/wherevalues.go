package webhook

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/orderwire/orderwire/schema"
)

// values refuses a text that the field beside it never holds, a name of a
// status in small letters for instance. Numbers pass as statuses unless they
// have a name: the network may use some that the specification does not know.
func (a *allowed) values(field, value ast.Node) {
	kind := kindOf(field)
	if kind == nil {
		return
	}
	texts := []ast.Node{value}
	if list, ok := value.(*ast.ArrayNode); ok {
		texts = list.Nodes
	}
	for _, n := range texts {
		text, ok := n.(*ast.StringNode)
		if !ok || text.Value == "" || slices.Contains(kind.values, text.Value) {
			continue
		}
		if _, err := strconv.ParseInt(text.Value, 10, 64); err == nil && kind.named(text.Value) == text.Value && kind.numbers {
			continue
		}
		a.refuse(n, "it can be "+strings.Join(kind.values, ", "), "no %s is called %q", kind.what, text.Value)
	}
}

// kind is a field whose texts are known.
type kind struct {
	what    string
	values  []string
	numbers bool // those without a name may come too
	named   func(string) string
}

var (
	eventKind      = &kind{"event", texts(schema.OrderCreated, schema.StatusChanged, schema.OrderUpdated, schema.OrderVanished), false, strings.Clone}
	settlementKind = &kind{"status", names(schema.SettlementStatuses()), true, settlementName}
	lineKind       = &kind{"status of a line", names(schema.LineStatuses()), true, lineName}
)

// kindOf returns the kind of a node that is such a field, nil for any other.
func kindOf(n ast.Node) *kind {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		switch n.Value {
		case "event":
			return eventKind
		case "status":
			return settlementKind
		}
	case *ast.MemberNode:
		if p, ok := n.Property.(*ast.StringNode); ok && p.Value == "status" {
			return lineKind
		}
	}
	return nil
}

func texts(types ...schema.EventType) []string {
	all := make([]string, len(types))
	for i, t := range types {
		all[i] = string(t)
	}
	return all
}

func names[S fmt.Stringer](statuses []S) []string {
	all := make([]string, len(statuses))
	for i, s := range statuses {
		all[i] = s.String()
	}
	return all
}
