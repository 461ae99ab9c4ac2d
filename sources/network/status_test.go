package network_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
)

// constants are the values of the type Status that a source file declares, by
// name.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Status" {
			found[spec.Names[0].Name] = spec.Values[0].(*ast.BasicLit).Value
		}
		return true
	})
	return found
}

// Every Status that the package knows is in its table once, in ascending order,
// and the documentation says the same.
func TestStatusTable(t *testing.T) {
	known := map[string]bool{}
	for _, value := range constants(t, "status.go") {
		known[value] = true
	}
	if len(known) < 19 {
		t.Fatalf("only %d values found in status.go", len(known))
	}
	last, documented := network.Status(-1), "//\tStatus  HTTP  Meaning\n"
	for _, s := range network.Statuses() {
		if s.Status <= last || s.Meaning == "" || s.Status.HTTP() != s.HTTP {
			t.Errorf("%+v", s)
		}
		if s.HTTP != 200 && int(s.Status)/100 != s.HTTP {
			t.Errorf("%+v: want the digits of its HTTP status", s)
		}
		if s.Status == 200 {
			t.Error("200 means success to many clients")
		}
		last = s.Status
		delete(known, fmt.Sprint(int(s.Status)))
		documented += fmt.Sprintf("//\t%-7d %-5d %s\n", s.Status, s.HTTP, s.Meaning)
	}
	for value := range known {
		t.Errorf("%s is not in the table", value)
	}
	raw, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), documented+"//\n") {
		t.Errorf("doc.go has another table, want\n%s", documented)
	}
}
