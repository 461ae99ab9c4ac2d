package network

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/network/internal/wire"
)

// amount returns an amount of money, which may not be negative, and whether it
// was given.
func (f *form) amount(name string) (cents, bool) {
	text := f.text(name)
	if text == "" {
		return 0, false
	}
	if err := schema.ValidateDecimal(name, text); err != nil {
		f.fail(err)
		return 0, false
	}
	d, err := decimal.NewFromString(text)
	if err != nil || d.IsNegative() {
		f.breaks(name, "an amount that is not negative")
		return 0, false
	}
	return cents(d.Shift(schema.MoneyScale).IntPart()), true
}

// currency returns an ISO 4217 code, def when the parameter is absent or empty.
func (f *form) currency(name, def string) string {
	text := f.text(name)
	if text == "" {
		return def
	}
	if err := schema.ValidateCurrency(name, text); err != nil {
		f.fail(err)
		return def
	}
	return text
}

// dateTime returns a time in Unix seconds, def when the parameter is absent or
// empty. zone is that of a time that names none.
func (f *form) dateTime(name string, zone *time.Location, def int64) int64 {
	text := f.text(name)
	if text == "" {
		return def
	}
	t, err := schema.ParseDateTime(name, text, zone)
	if err != nil {
		f.fail(err)
		return def
	}
	return t.Unix()
}

// flag returns a truth value, written as 1 and 0, true and false, or yes and
// no; false when the parameter is absent or empty.
func (f *form) flag(name string) bool {
	if p, _ := f.params.Get(name); p.Kind == 't' || p.Kind == 'f' {
		return p.Kind == 't'
	}
	switch strings.ToLower(f.text(name)) {
	case "1", "true", "yes":
		return true
	case "", "0", "false", "no":
		return false
	}
	f.breaks(name, "0 or 1")
	return false
}

// objects returns the elements of an array of objects, of which there may be
// most, each as a form of its own; nil when the parameter is absent. Its text
// may hold the array as JSON, which is how a form body sends it. What fails in
// an element is told by [form.take].
func (f *form) objects(name string, most int) []*form {
	p, given := f.params.Get(name)
	raw := p.Raw
	if p.Kind == '"' {
		raw = jsontext.Value(p.Text)
	}
	switch {
	case !given || p.Kind == '"' && p.Text == "":
		return nil
	case len(raw) == 0:
		f.breaks(name, "an array of objects")
		return nil
	}
	values, err := wire.Objects(raw, most)
	if err != nil {
		f.breaks(name, "an array of at most "+strconv.Itoa(most)+" objects")
		return nil
	}
	all := make([]*form, len(values))
	for i, members := range values {
		all[i] = &form{params: members}
	}
	return all
}

// take keeps the first error of an element.
func (f *form) take(element *form) {
	if element.err != nil {
		f.fail(element.err)
	}
}
