package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/sources/openapi"
)

// Params are the parameters of a body, or the members of an object in it, in
// the order of their names, each of which is there once.
type Params []Param

// Param is one parameter. Numbers and strings are taken alike (specification
// 2.2 shows Timestamp as both), and every field of a form is a string.
type Param struct {
	Name string
	Kind jsontext.Kind
	Text string         // of a string or a number, as it was sent
	Raw  jsontext.Value // of an array or object, as it stands in the body
	Size int            // of the value, in bytes; of a string without its quotes
}

// Get returns the parameter with a name, and whether it is there.
func (p Params) Get(name string) (Param, bool) {
	i, found := slices.BinarySearchFunc(p, name, func(one Param, name string) int { return strings.Compare(one.Name, name) })
	if !found {
		return Param{}, false
	}
	return p[i], true
}

func parseJSON(body []byte) (Body, error) {
	members, err := openapi.SplitBody(body)
	if err != nil {
		return Body{}, err
	}
	params, err := newParams(members)
	return Body{Params: params, signed: members}, err
}

func newParams(members openapi.Members) (Params, error) {
	params := make(Params, len(members))
	for i, m := range members {
		p := Param{Name: m.Name, Kind: m.Value.Kind(), Size: len(m.Value)}
		switch p.Kind {
		case '"':
			text, err := unquote(m.Value)
			if err != nil {
				return nil, err
			}
			p.Text, p.Size = text, len(text)
		case '0':
			p.Text = string(m.Value)
		case '[', '{':
			p.Raw = m.Value
		}
		params[i] = p
	}
	return params, nil
}

func unquote(quoted jsontext.Value) (string, error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return "", &Error{"body: a string that is not UTF-8"}
	}
	return string(text), nil
}

// Objects reads an array of objects, of which there may be most. The error is
// an [*Error] or wraps [openapi.ErrBody].
func Objects(array jsontext.Value, most int) ([]Params, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(array))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '[' {
		return nil, &Error{"want an array"}
	}
	var all []Params
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil || len(all) == most {
			return nil, &Error{"want a whole array with less in it"}
		}
		end := int(dec.InputOffset())
		members, err := openapi.SplitBody(array[end-len(value) : end])
		if err != nil {
			return nil, err
		}
		params, err := newParams(members)
		if err != nil {
			return nil, err
		}
		all = append(all, params)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, &Error{"want a whole array"}
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &Error{"data after the array"}
	}
	return all, nil
}
