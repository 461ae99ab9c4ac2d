package webhook

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
)

// builtins are the functions of an expression.
var builtins = []string{"any", "all", "none", "one", "count", "len", "lower", "upper", "trim"}

var functionsHint = "there are the functions " + strings.Join(builtins, ", ")

// operations are its operators. Division is not among them, because it rounds.
var operations = []string{"==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "&&", "and", "||", "or", "in", "contains", "startsWith", "endsWith", "matches"}

// allowed refuses what would make an expression expensive, or able to fail on
// an event: loops within loops, variables, indexes, conversions. It gathers the
// names that the expression uses.
type allowed struct {
	names   map[string]bool
	refused *refusedNode // the first one
}

type refusedNode struct {
	at            int // character, from 0
	problem, hint string
}

func (a *allowed) refuse(n ast.Node, hint, problem string, args ...any) {
	if a.refused == nil {
		a.refused = &refusedNode{at: n.Location().From, problem: fmt.Sprintf(problem, args...), hint: hint}
	}
}

// Visit judges one node, its parts before itself.
func (a *allowed) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if a.names == nil {
			a.names = make(map[string]bool)
		}
		a.names[n.Value] = true
		if strings.HasPrefix(n.Value, "$") {
			a.refuse(n, fieldsHint, "%s cannot be used", n.Value)
		}
	case *ast.StringNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
	case *ast.BuiltinNode:
		if !slices.Contains(builtins, n.Name) {
			a.refuse(n, functionsHint, "there is no function %s", n.Name)
		} else if n.Name == "count" && len(n.Arguments) < 2 {
			a.refuse(n, `write it like: count(lines, .amount > 100); the length of a list is len(lines)`, "count of nothing")
		}
	case *ast.CallNode:
		a.refuse(n, functionsHint, "there is no such function")
	case *ast.UnaryNode:
		if n.Operator != "!" && n.Operator != "not" && n.Operator != "-" {
			a.refuse(n, "leave it out", "the operator %s cannot be used", n.Operator)
		}
	case *ast.BinaryNode:
		a.operation(n)
	case *ast.ArrayNode:
		if slices.ContainsFunc(n.Nodes, func(e ast.Node) bool { return !isLiteral(e) }) {
			a.refuse(n, `write it like: status in ["Confirmed", "Approved"]`, "a list may hold only texts and whole numbers")
		}
	case *ast.PredicateNode:
		if hasLoop(n.Node) {
			a.refuse(n, "go through one list at a time", "a loop within a loop")
		}
	case *ast.PointerNode:
		if n.Name != "" {
			a.refuse(n, "use # alone", "#%s cannot be used", n.Name)
		}
	case *ast.MemberNode:
		_, ofElement := n.Node.(*ast.PointerNode)
		if _, named := n.Property.(*ast.StringNode); !ofElement || !named {
			a.refuse(n, `write it like: any(lines, .status == "Refund"), or: "/Status" in changes`, "a dot or an index stands only for the fields of a line")
		}
	default:
		a.refuse(n, "use comparisons, && and ||; "+functionsHint, "this cannot be used")
	}
}

func (a *allowed) operation(n *ast.BinaryNode) {
	switch _, literal := n.Right.(*ast.StringNode); {
	case !slices.Contains(operations, n.Operator):
		a.refuse(n, "multiply instead of dividing: commission >= amount * 0.05", "the operator %s cannot be used", n.Operator)
	case n.Operator == "matches" && !literal:
		a.refuse(n, "write the regular expression in quotes", "the right side of matches is no text")
	case n.Operator == "in" && n.Left.Type() == amountType:
		a.refuse(n, "compare amounts by ==, >= and <=", "an amount cannot be looked for in a list")
	case n.Operator != "in" && (isList(n.Left) || isList(n.Right)):
		a.refuse(n, `write it like: "/Status" in changes, or: any(lines, .amount > 100)`, "a list cannot stand beside %s", n.Operator)
	case n.Operator == "in" || n.Operator == "==" || n.Operator == "!=":
		a.values(n.Left, n.Right)
		a.values(n.Right, n.Left)
	}
}

func isList(n ast.Node) bool { return n.Type().Kind() == reflect.Slice }

func isLiteral(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.StringNode, *ast.IntegerNode:
		return true
	case *ast.UnaryNode:
		return isLiteral(n.Node)
	default:
		return false
	}
}

// hasLoop reports whether there is a loop in a node.
func hasLoop(n ast.Node) bool {
	var f loopFinder
	ast.Walk(&n, &f)
	return bool(f)
}

type loopFinder bool

// Visit notes a loop.
func (f *loopFinder) Visit(node *ast.Node) {
	if _, ok := (*node).(*ast.PredicateNode); ok {
		*f = true
	}
}

// oversized reports whether an expression has too many parts. It goes before
// all else: in a < b < c, b stands twice, so a short text can hold a tree that
// nobody should walk.
func oversized(text string) (yes bool) {
	tree, err := parser.Parse(text)
	if err != nil {
		return false // the compiler says what is wrong
	}
	var parts partCounter
	defer func() {
		if r := recover(); r == errOversized { //nolint:errorlint // the very value that is thrown below
			yes = true
		} else if r != nil {
			panic(r)
		}
	}()
	ast.Walk(&tree.Node, &parts)
	return false
}

var errOversized = errors.New("too many parts")

type partCounter int

// Visit ends the walk, which has no other end, by a panic.
func (c *partCounter) Visit(*ast.Node) {
	if *c++; *c > maxWhereNodes {
		panic(errOversized)
	}
}

// fractions refuses numbers with a fraction that [lifting] has left: they would
// be floats.
type fractions struct {
	*allowed
}

// Visit judges one node.
func (f fractions) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.FloatNode); ok {
		f.refuse(n, "only amounts have fractions: amount, commission, confirmed_amount, confirmed_commission", "this number is compared with no amount, or is too long")
	}
}
