package openapi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds the nesting of a value of a signed body.
const maxDepth = 64

// MaxMembers is how many parameters a signed body may have.
const MaxMembers = 256

// ErrBody marks a body that cannot be signed: no JSON object, invalid UTF-8,
// a duplicate name, nested too deep, or more than [MaxMembers] parameters.
var ErrBody = errors.New("not a JSON object that can be signed")

// Members are the parameters of a body in the order in which they are signed:
// by name, byte by byte.
type Members []Member

// Member is one parameter of a body.
type Member struct {
	Name  string
	Value jsontext.Value // as it stands in the body
}

// Sort brings the members into the order in which they are signed.
func (m Members) Sort() {
	slices.SortFunc(m, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
}

// SplitBody takes the top level of a JSON object apart. At no level does it
// accept duplicate names and invalid UTF-8. The values share the memory of the
// body. The error wraps [ErrBody] and quotes nothing of the body.
func SplitBody(body []byte) (Members, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	if dec.PeekKind() != '{' {
		return nil, fmt.Errorf("%w: want an object", ErrBody)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, bodyError(err)
	}
	members := make(Members, 0, 8)
	for dec.PeekKind() != '}' {
		m, err := readMember(dec, body)
		if err != nil {
			return nil, err
		}
		if len(members) == MaxMembers {
			return nil, fmt.Errorf("%w: more than %d members", ErrBody, MaxMembers)
		}
		members = append(members, m)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, bodyError(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: data after the object", ErrBody)
	}
	members.Sort()
	return members, nil
}

func readMember(dec *jsontext.Decoder, body []byte) (Member, error) {
	name, err := dec.ReadToken()
	if err != nil {
		return Member{}, bodyError(err)
	}
	m := Member{Name: name.String()}
	value, err := dec.ReadValue()
	if err != nil {
		return Member{}, bodyError(err)
	}
	if nesting(value) > maxDepth {
		return Member{}, fmt.Errorf("%w: nested deeper than %d", ErrBody, maxDepth)
	}
	end := int(dec.InputOffset())
	m.Value = body[end-len(value) : end : end] // what the decoder returns is good until its next step only
	return m, nil
}

// nesting is how deep the arrays and objects of a valid value are nested.
func nesting(value jsontext.Value) int {
	if k := value.Kind(); k != '{' && k != '[' {
		return 0
	}
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// bodyError says where a body is broken, without the text that the library
// would quote.
func bodyError(err error) error {
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return fmt.Errorf("%w: broken at byte %d", ErrBody, syn.ByteOffset)
	}
	return fmt.Errorf("%w: cut short", ErrBody)
}
