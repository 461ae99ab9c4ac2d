package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Ampersand says how the canonical form writes "&" (specification 5.1, step 2:
// it may be escaped as in PHP JSON_HEX_AMP). Both forms are in use; a service
// has to accept either.
type Ampersand bool

// The two forms.
const (
	PlainAmpersand Ampersand = false // &
	HexAmpersand   Ampersand = true  // \u0026
)

// Canonical returns the text that is signed: the body's members without Sign,
// sorted by name, as compact JSON. It writes what PHP's json_encode writes
// with JSON_UNESCAPED_SLASHES and JSON_UNESCAPED_UNICODE: "/", "<", ">" and
// non-ASCII characters stand as they are, U+2028 and U+2029 are escaped. A number keeps the
// text in which it was sent, and only the top level is sorted. The error
// wraps [ErrBody] and quotes nothing of the body.
func Canonical(body []byte, amp Ampersand) ([]byte, error) {
	members, err := SplitBody(body)
	if err != nil {
		return nil, err
	}
	return members.Canonical(amp)
}

// Canonical is [Canonical] of the members, which have to be in their order.
func (m Members) Canonical(amp Ampersand) ([]byte, error) {
	size := 2
	for _, one := range m {
		size += len(one.Name) + len(one.Value) + 4
	}
	c := canonicalWriter{out: make([]byte, 0, size), amp: amp}
	c.out = append(c.out, '{')
	for _, one := range m {
		if one.Name == SignField {
			continue
		}
		if len(c.out) > 1 {
			c.out = append(c.out, ',')
		}
		c.quote(one.Name)
		c.out = append(c.out, ':')
		if err := c.value(one.Value); err != nil {
			return nil, err
		}
	}
	return append(c.out, '}'), nil
}

type canonicalWriter struct {
	out []byte
	amp Ampersand
}

// value appends one JSON value: white space removed, strings re-escaped,
// members and numbers as they stand.
func (c *canonicalWriter) value(v jsontext.Value) error {
	switch v.Kind() {
	case '{', '[':
		return c.nested(v)
	case '"':
		if bytes.IndexByte(v, '\\') < 0 {
			c.quote(string(v[1 : len(v)-1]))
			return nil
		}
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return bodyError(err)
		}
		c.quote(string(text))
	default:
		c.out = append(c.out, v...)
	}
	return nil
}

func (c *canonicalWriter) nested(v jsontext.Value) error {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return bodyError(err)
		}
		c.separate()
		c.token(dec, tok)
	}
}

// token appends one token, and the colon after a name.
func (c *canonicalWriter) token(dec *jsontext.Decoder, tok jsontext.Token) {
	if tok.Kind() != '"' {
		if k := tok.Kind(); k == '}' || k == ']' {
			c.out = bytes.TrimSuffix(c.out, []byte{','})
		}
		c.out = append(c.out, tok.String()...)
		return
	}
	c.quote(tok.String())
	if kind, n := dec.StackIndex(dec.StackDepth()); kind == '{' && n%2 == 1 {
		c.out = append(c.out, ':')
	}
}

// separate appends the comma that a token needs after the end of another value.
func (c *canonicalWriter) separate() {
	switch last := c.out[len(c.out)-1]; last {
	case '{', '[', ':', ',':
	default:
		c.out = append(c.out, ',')
	}
}

// quote appends a string as PHP's json_encode escapes it.
func (c *canonicalWriter) quote(s string) {
	c.out = append(c.out, '"')
	from := 0 // of what stands as it is and is not yet written
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			c.out = append(append(c.out, s[from:i]...), '\\', byte(r))
		case r == '&' && c.amp == HexAmpersand, r == '\u2028', r == '\u2029':
			c.out = fmt.Appendf(append(c.out, s[from:i]...), `\u%04x`, r)
		case r < ' ':
			c.out = appendControl(append(c.out, s[from:i]...), byte(r))
		default:
			continue
		}
		from = i + len(string(r))
	}
	c.out = append(append(c.out, s[from:]...), '"')
}

func appendControl(b []byte, r byte) []byte {
	if i := bytes.IndexByte([]byte("\b\f\n\r\t"), r); i >= 0 {
		return append(b, '\\', "bfnrt"[i])
	}
	return fmt.Appendf(b, `\u%04x`, r)
}
