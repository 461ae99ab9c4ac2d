package webhook

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
)

// amount is an amount of money in an expression. It is decimal throughout, the
// numbers that it is compared with too. It has no exported method, since an
// expression could call that.
type amount struct {
	value decimal.Decimal
}

var amountType = reflect.TypeFor[amount]()

// amountOf counts an amount that the network has not given as zero, like
// [schema.Money].
func amountOf(m schema.Money) amount { return amount{m.Decimal()} }

// operators are what an expression can do with two amounts.
var operators = map[string]any{
	"==": func(a, b decimal.Decimal) bool { return a.Equal(b) },
	"!=": func(a, b decimal.Decimal) bool { return !a.Equal(b) },
	"<":  decimal.Decimal.LessThan,
	"<=": decimal.Decimal.LessThanOrEqual,
	">":  decimal.Decimal.GreaterThan,
	">=": decimal.Decimal.GreaterThanOrEqual,
	"+":  decimal.Decimal.Add,
	"-":  decimal.Decimal.Sub,
	"*":  decimal.Decimal.Mul,
}

// functionOf names the function behind an operator, in a way that no expression
// can write.
func functionOf(operator string) string { return "amount " + operator }

// amountFunctions makes the operators known to a compiler.
func amountFunctions() []expr.Option {
	var all []expr.Option
	for operator, f := range operators {
		var call func(a, b amount) any
		signature := any(new(func(amount, amount) bool))
		switch f := f.(type) {
		case func(a, b decimal.Decimal) bool:
			call = func(a, b amount) any { return f(a.value, b.value) }
		case func(a, b decimal.Decimal) decimal.Decimal:
			call = func(a, b amount) any { return amount{f(a.value, b.value)} }
			signature = new(func(amount, amount) amount)
		}
		all = append(all, expr.Function(functionOf(operator), func(p ...any) (any, error) {
			a, isA := p[0].(amount)
			b, isB := p[1].(amount)
			if !isA || !isB {
				return nil, fmt.Errorf("%s of what is no amount", operator)
			}
			return call(a, b), nil
		}, signature))
	}
	return all
}

// lifting replaces the operators between amounts, and the numbers beside them,
// before the compiler checks types.
type lifting struct {
	source []rune
}

// Visit is called for the parts of an operation before the operation.
func (l *lifting) Visit(node *ast.Node) {
	var lifted ast.Node
	switch n := (*node).(type) {
	case *ast.UnaryNode:
		if n.Node.Type() == amountType {
			lifted = l.lift(n)
		}
	case *ast.BinaryNode:
		if n.Left.Type() == amountType || n.Right.Type() == amountType {
			lifted = l.call(n.Operator, n.Left, n.Right, n)
		}
	}
	if lifted != nil {
		ast.Patch(node, lifted)
	}
}

// call returns an operation on amounts, nil when it is none. It stands in for
// the node at.
func (l *lifting) call(operator string, a, b, at ast.Node) ast.Node {
	f, known := operators[operator]
	left, right := l.lift(a), l.lift(b)
	if !known || left == nil || right == nil {
		return nil
	}
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: functionOf(operator)}, Arguments: []ast.Node{left, right}}
	call.SetLocation(at.Location())
	call.SetType(reflect.TypeFor[bool]())
	if _, isAmount := f.(func(a, b decimal.Decimal) decimal.Decimal); isAmount {
		call.SetType(amountType)
	}
	return call
}

// lift returns a node as an amount: an amount itself, a number, or what is
// computed of them. It returns nil for any other.
func (l *lifting) lift(node ast.Node) ast.Node {
	if node.Type() == amountType {
		return node
	}
	switch n := node.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		if d, ok := l.number(node); ok {
			return constant(node, d)
		}
	case *ast.UnaryNode:
		if n.Operator == "-" {
			return l.call("-", constant(n, decimal.Zero), n.Node, n)
		}
	case *ast.BinaryNode:
		return l.call(n.Operator, n.Left, n.Right, n)
	}
	return nil
}

// number reads a number as it is written, which a float might not hold.
func (l *lifting) number(node ast.Node) (decimal.Decimal, bool) {
	at := node.Location()
	text := strings.ReplaceAll(string(l.source[at.From:at.To]), "_", "")
	if n, ok := node.(*ast.IntegerNode); ok {
		text = strconv.Itoa(n.Value) // 0x10 too
	}
	m, err := schema.ParseMoney(text)
	return m.Decimal(), err == nil && m.Known()
}

func constant(at ast.Node, d decimal.Decimal) *ast.ConstantNode {
	c := &ast.ConstantNode{Value: amount{d}}
	c.SetLocation(at.Location())
	c.SetType(amountType)
	return c
}
