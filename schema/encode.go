package schema

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	errUTF8     = errors.New("not valid UTF-8")
	errTime     = errors.New("a time that RFC 3339 cannot write")
	errRaw      = errors.New("not one valid JSON value")
	errMembers  = errors.New("not a valid JSON object")
	errRepeated = errors.New("repeats a field")
)

// encoder writes one document in compact form. After the first fault, err,
// what it writes is of no use.
type encoder struct {
	b   []byte
	err error // names the field
}

// result returns the document behind dst, or dst and the fault.
func (e *encoder) result(dst []byte) ([]byte, error) {
	if e.err != nil {
		return dst, e.err
	}
	return e.b, nil
}

func (e *encoder) fail(field string, err error) {
	if e.err == nil {
		e.err = fmt.Errorf("%s: %w", field, err)
	}
}

// member writes a member name, quoted and with its colon.
func (e *encoder) member(quoted string) {
	if e.b[len(e.b)-1] != '{' {
		e.b = append(e.b, ',')
	}
	e.b = append(e.b, quoted...)
}

func (e *encoder) string(quoted, s string) {
	e.member(quoted)
	var ok bool
	if e.b, ok = appendQuoted(e.b, s); !ok {
		e.fail(quoted[1:len(quoted)-2], errUTF8)
	}
}

// time writes t in RFC 3339 with the nanoseconds it has.
func (e *encoder) time(quoted string, t time.Time) {
	e.member(quoted)
	e.b = append(e.b, '"')
	var err error
	if e.b, err = t.AppendText(e.b); err != nil {
		e.fail(quoted[1:len(quoted)-2], errTime)
	}
	e.b = append(e.b, '"')
}

// raw writes a JSON value that stands inside depth objects and arrays.
func (e *encoder) raw(quoted string, v jsontext.Value, depth int) {
	e.member(quoted)
	s := scanner{b: v}
	switch {
	case v == nil:
		e.b = append(e.b, "null"...)
	case !s.space() || !s.value(depth, whole) || !s.end():
		e.fail(quoted[1:len(quoted)-2], errRaw)
	default:
		e.b = appendCompact(e.b, v, s.loose)
	}
}

// members writes the members of all, a JSON object at depth-1 or nothing at
// all, into the object that is being written. present says whether that object
// has a field of a name already.
func (e *encoder) members(field string, all jsontext.Value, depth int, known *fields, present func(field int) bool) {
	if len(all) == 0 {
		return
	}
	s := scanner{b: all}
	if !s.space() || s.b[s.i] != '{' || !s.value(depth-1, whole) || !s.end() {
		e.fail(field, errMembers)
		return
	}
	s.i = 0
	s.space()
	s.i++
	for s.space() && s.b[s.i] != '}' {
		start := s.i
		s.str()
		name := s.b[start:s.i]
		if i := known.index(string(unquote(name[1 : len(name)-1]))); i >= 0 && present(i) {
			e.fail(field, errRepeated)
			return
		}
		s.colon()
		s.value(depth, whole)
		if e.b[len(e.b)-1] != '{' {
			e.b = append(e.b, ',')
		}
		e.b = appendCompact(e.b, s.b[start:s.i], s.loose)
		s.comma('}', whole)
	}
}

// appendCompact appends JSON that a scanner has walked: without white space,
// and with strings in their shortest form. When it is not loose, it has that
// form already.
func appendCompact(dst, v []byte, loose bool) []byte {
	if !loose {
		return append(dst, v...)
	}
	s := scanner{b: v}
	for s.space() {
		start := s.i
		if s.b[start] != '"' {
			dst = append(dst, s.b[start])
			s.i++
			continue
		}
		s.str()
		if s.escapes {
			dst, _ = appendQuoted(dst, string(unquote(s.b[start+1:s.i-1])))
		} else {
			dst = append(dst, s.b[start:s.i]...)
		}
	}
	return dst
}
