package webhook

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/orderwire/orderwire/schema"
)

// ErrWhere marks an event on which the expression of an endpoint fails. The
// event is neither sent, as it may not be meant for this receiver, nor passed
// over, as it may be: its [DeliveryError] is permanent.
var ErrWhere = errors.New("the expression in where fails on this event")

// The bounds of an expression. What it may say is bounded too, see [allowed],
// so that no event costs more than a few passes over its lines.
const (
	maxWhereRunes = 2000
	maxWhereNodes = 250
)

// where is a compiled expression. It may be used from several goroutines.
type where struct {
	program *vm.Program
	fields  []field // those that the expression names
	spare   sync.Pool
}

// run is what one evaluation needs.
type run struct {
	vm   vm.VM
	view view
}

// CheckWhere says what is wrong with an expression for [Config.Where]. The
// error is a [*ConfigError] without an endpoint.
func CheckWhere(text string) error {
	if _, err := compileWhere(text); err != nil {
		return err
	}
	return nil
}

// compileWhere returns nil for an empty text.
func compileWhere(text string) (*where, *ConfigError) {
	if text == "" {
		return nil, nil
	}
	if n := utf8.RuneCountInString(text); n > maxWhereRunes {
		return nil, &ConfigError{Field: "where", Problem: fmt.Sprintf("has %d characters, more than %d", n, maxWhereRunes), Hint: "put long lists into accounts or programs"}
	}
	if oversized(text) {
		return nil, &ConfigError{Field: "where", Problem: fmt.Sprintf("has more than %d parts", maxWhereNodes), Hint: "put long lists into accounts or programs, or make two endpoints of it"}
	}
	gate, lift := &allowed{}, &lifting{source: []rune(text)}
	options := []expr.Option{
		expr.Env(view{}), expr.AsBool(), expr.WarnOnAny(), expr.DisableAllBuiltins(),
		expr.Patch(gate), expr.Patch(lift), expr.Patch(fractions{gate}),
	}
	for _, name := range builtins {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(text, append(options, amountFunctions()...)...)
	if gate.refused != nil {
		return nil, whereError(text, gate.refused.at, gate.refused.problem, gate.refused.hint)
	}
	if err != nil {
		return nil, compileError(text, err)
	}
	w := &where{program: program}
	for _, f := range fields {
		if gate.names[f.name] {
			w.fields = append(w.fields, f)
		}
	}
	w.spare.New = func() any { return new(run) }
	return w, nil
}

// match evaluates the expression. The error is [ErrWhere]; what went wrong is
// not said, since it may quote the event.
func (w *where) match(e *schema.Event) (bool, error) {
	r := w.spare.Get().(*run)
	defer func() {
		r.view = view{} // which keeps no event alive
		w.spare.Put(r)
	}()
	for _, f := range w.fields {
		f.load(&r.view, e)
	}
	result, err := r.vm.Run(w.program, &r.view)
	if err != nil {
		return false, ErrWhere
	}
	matches, ok := result.(bool)
	if !ok {
		return false, ErrWhere
	}
	return matches, nil
}

// whereError places a problem in the text; at counts characters from 0.
func whereError(text string, at int, problem, hint string) *ConfigError {
	place := (&file.Error{Location: file.Location{From: at}}).Bind(file.NewSource(text))
	return &ConfigError{Field: "where", Problem: fmt.Sprintf("line %d, character %d: %s", place.Line, place.Column+1, problem), Hint: hint}
}

// compileError turns an error of the expression library into ours.
func compileError(text string, err error) *ConfigError {
	clean := func(s string) string { return strings.ReplaceAll(s, "webhook.", "") } // in names of types
	found, ok := errors.AsType[*file.Error](err)
	if !ok { // of the whole text: no bool
		return &ConfigError{Field: "where", Problem: clean(err.Error()), Hint: fieldsHint}
	}
	problem, hint := clean(found.Message), fieldsHint
	if name, ok := strings.CutPrefix(problem, "unknown name "); ok {
		hint = fmt.Sprintf("did you mean %s? %s", nearestField(name), fieldsHint)
	}
	return whereError(text, found.From, problem, hint)
}

// nearestField returns the name of an expression that looks most like a word.
func nearestField(word string) string {
	best, distance := "", 1<<30
	for _, f := range fields {
		if d := levenshtein.ComputeDistance(word, f.name); d < distance {
			best, distance = f.name, d
		}
	}
	return best
}
