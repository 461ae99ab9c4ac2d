package network

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
)

// params are the parameters of a request, by name. Numbers and strings are
// taken alike (specification 2.2 shows Timestamp as both).
type params map[string]param

// param is the value of a parameter: its text when it is a string or a number.
type param struct {
	kind jsontext.Kind
	text string
	raw  jsontext.Value // an array or object as it came
	size int            // of the value in the body, in bytes
}

// parseParams reads the members of a body. It tells a body that is no object,
// repeats a name or is not UTF-8; the rest is left to [openapi.Verify].
func parseParams(body []byte) (params, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	if dec.PeekKind() != '{' {
		return nil, refuse(StatusBody, "body: want a JSON object")
	}
	broken := func() error { return refuse(StatusBody, "body: broken JSON at byte %d", dec.InputOffset()) }
	if _, err := dec.ReadToken(); err != nil {
		return nil, broken()
	}
	p := params{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, broken()
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, broken()
		}
		p[key] = newParam(value)
	}
	return p, nil
}

func newParam(value jsontext.Value) param {
	p := param{kind: value.Kind(), size: len(value)}
	switch p.kind {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			p.kind = 0
		}
		p.text, p.size = string(text), len(text)
	case '0':
		p.text = string(value)
	case '[', '{':
		p.raw = value.Clone()
	}
	return p
}

// form takes parameters out and keeps the first rule that one of them breaks,
// so that an operation reads all of its parameters and then looks at err.
type form struct {
	params params
	err    error
}

// fail keeps the first error.
func (f *form) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (f *form) breaks(name, rule string) {
	f.fail(&schema.ParamError{Name: name, Rule: rule, Length: f.params[name].size})
}

// text returns a string, "" when it is absent or empty.
func (f *form) text(name string) string {
	p, given := f.params[name]
	switch {
	case !given:
		return ""
	case p.kind != '"' && p.kind != '0':
		f.breaks(name, "a string or a number")
		return ""
	case strings.ContainsRune(p.text, 0):
		f.breaks(name, "no character U+0000") // which not every database can hold
		return ""
	}
	if err := schema.ValidateString(name, p.text); err != nil {
		f.fail(err)
		return ""
	}
	return p.text
}

// required returns a string that has to be there and not be empty.
func (f *form) required(name string) string {
	text := f.text(name)
	if text == "" {
		f.breaks(name, "a value, it is required")
	}
	return text
}

// integer returns a whole number between least and most, def when the
// parameter is absent or empty.
func (f *form) integer(name string, def, least, most int64) int64 {
	text := f.text(name)
	if text == "" {
		return def
	}
	if err := schema.ValidateInteger(name, text); err != nil {
		f.fail(err)
		return def
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		f.breaks(name, "an integer between "+strconv.FormatInt(least, 10)+" and "+strconv.FormatInt(most, 10))
		return def
	}
	return n
}

// requiredInteger returns a whole number of at most 16 digits, not negative,
// that has to be there.
func (f *form) requiredInteger(name string) int64 {
	if f.required(name) == "" {
		return 0
	}
	return f.integer(name, 0, 0, maxInteger)
}

// maxInteger is the largest number of 16 digits (specification 8).
const maxInteger = 9_999_999_999_999_999

// choice returns one of the values, the first one when the parameter is absent
// or empty.
func (f *form) choice(name, rule string, values ...string) string {
	text := f.text(name)
	if text == "" {
		return values[0]
	}
	for _, v := range values {
		if v == text {
			return v
		}
	}
	f.breaks(name, rule)
	return values[0]
}

// agree checks a parameter that repeats a part of the path (specification
// 5.1.4: they may be repeated).
func (f *form) agree(name, want string) {
	if _, given := f.params[name]; given && f.text(name) != want {
		f.breaks(name, "the same as in the path")
	}
}
