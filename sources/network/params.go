package network

import (
	"strconv"
	"strings"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/network/internal/wire"
)

// form takes parameters out and keeps the first rule that one of them breaks,
// so that an operation reads all of its parameters and then looks at err.
type form struct {
	params wire.Params
	err    error
}

// fail keeps the first error.
func (f *form) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (f *form) breaks(name, rule string) {
	p, _ := f.params.Get(name)
	f.fail(&schema.ParamError{Name: name, Rule: rule, Length: p.Size})
}

// given reports whether a parameter is there, empty or not.
func (f *form) given(name string) bool {
	_, given := f.params.Get(name)
	return given
}

// text returns a string, "" when it is absent or empty. It refuses NUL, which
// not every database can hold.
func (f *form) text(name string) string {
	p, given := f.params.Get(name)
	switch {
	case !given:
		return ""
	case p.Kind != '"' && p.Kind != '0':
		f.breaks(name, "a string or a number")
		return ""
	case strings.IndexByte(p.Text, 0) >= 0:
		f.breaks(name, "a string without NUL characters")
		return ""
	}
	if err := schema.ValidateString(name, p.Text); err != nil {
		f.fail(err)
		return ""
	}
	return p.Text
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
	if f.given(name) && f.text(name) != want {
		f.breaks(name, "the same as in the path")
	}
}
