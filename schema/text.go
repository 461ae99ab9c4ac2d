package schema

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Text is a string field of the network's API (specification 2.1 and 2.3).
// The zero Text means that the field was absent or null, which is not the same
// as an empty string: both survive a round trip.
type Text struct {
	value string
	set   bool
}

// NewText returns a present Text, also for the empty string.
func NewText(s string) Text { return Text{value: s, set: true} }

// String returns the text, "" when it is absent.
func (t Text) String() string { return t.value }

// IsZero reports whether the field is absent; encoders then omit it.
func (t Text) IsZero() bool { return !t.set }

// AppendJSON appends the text to dst as a JSON string, null when it is absent.
// The error says that it is not valid UTF-8; dst then comes back as it was.
func (t Text) AppendJSON(dst []byte) ([]byte, error) {
	if !t.set {
		return append(dst, "null"...), nil
	}
	b, ok := appendQuoted(dst, t.value)
	if !ok {
		return dst, errUTF8
	}
	return b, nil
}

// MarshalJSONTo writes the text as a JSON string, null when it is absent.
func (t Text) MarshalJSONTo(enc *jsontext.Encoder) error {
	if !t.set {
		return enc.WriteToken(jsontext.Null)
	}
	return enc.WriteToken(jsontext.String(t.value))
}

// UnmarshalJSONFrom reads a JSON string, number (its text is kept as it
// stands), boolean or null.
func (t *Text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	s, set, err := readScalar(dec)
	if err != nil {
		return err
	}
	*t = Text{value: s, set: set}
	return nil
}

// MarshalJSON serves encoding/json.
func (t Text) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil) }

// UnmarshalJSON serves encoding/json.
func (t *Text) UnmarshalJSON(b []byte) error { return unmarshalWith(b, t.UnmarshalJSONFrom) }

// readScalar reads the next JSON value as text. A null is reported as unset.
func readScalar(dec *jsontext.Decoder) (text string, set bool, err error) {
	switch kind := dec.PeekKind(); kind {
	case '{', '[':
		return "", false, fmt.Errorf("want a string or a number, not a JSON %s", kindName(kind))
	default:
		tok, err := dec.ReadToken()
		if err != nil {
			return "", false, err
		}
		if tok.Kind() == 'n' {
			return "", false, nil
		}
		return tok.String(), true, nil
	}
}

func kindName(k jsontext.Kind) string {
	if k == '[' {
		return "array"
	}
	return "object"
}
