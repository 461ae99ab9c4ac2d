package openapi

import (
	"bytes"
	"cmp"
	"crypto/md5" //nolint:gosec // the algorithm is the network's (specification 5.1), not ours to choose
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// SignField is the parameter that carries the signature; it is no part of
// what is signed (specification 5.1, step 1).
const SignField = "Sign"

// maxDepth bounds the nesting of a signed body.
const maxDepth = 64

// Ampersand says how the canonical form writes "&" (specification 5.1, step 2:
// it may be escaped as in PHP JSON_HEX_AMP). Both forms are in use; a service
// has to accept either.
type Ampersand bool

// The two forms.
const (
	PlainAmpersand Ampersand = false // &
	HexAmpersand   Ampersand = true  // \u0026
)

// ErrBody marks a body that cannot be signed: no JSON object, invalid UTF-8,
// a duplicate name, or nested too deep.
var ErrBody = errors.New("not a JSON object that can be signed")

// Canonical returns the text that is signed: the body's members without Sign,
// sorted by name, as compact JSON. It writes what PHP's json_encode writes
// with JSON_UNESCAPED_SLASHES and JSON_UNESCAPED_UNICODE: "/", "<", ">" and
// non-ASCII characters stand as they are, U+2028 and U+2029 are escaped. A number keeps the
// text in which it was sent, and only the top level is sorted. The error
// wraps [ErrBody] and quotes nothing of the body.
func Canonical(body []byte, amp Ampersand) ([]byte, error) {
	members, err := splitMembers(body)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	c := canonicalWriter{out: make([]byte, 0, len(body)), amp: amp}
	c.out = append(c.out, '{')
	for _, m := range members {
		if m.name == SignField {
			continue
		}
		if len(c.out) > 1 {
			c.out = append(c.out, ',')
		}
		c.quote(m.name)
		c.out = append(c.out, ':')
		if err := c.value(m.value); err != nil {
			return nil, err
		}
	}
	return append(c.out, '}'), nil
}

// Sign computes the signature of a body: MD5, in upper case hexadecimal, of
// secret + path + canonical body + secret (specification 5.1, steps 3 and 4).
// The path is "/{APP_KEY}/{SERVICE_NAME}". A Sign that the body already holds
// is ignored. The error wraps [ErrBody].
func Sign(secret, path string, body []byte, amp Ampersand) (string, error) {
	canonical, err := Canonical(body, amp)
	if err != nil {
		return "", err
	}
	return digest(secret, path, canonical), nil
}

// Verify reports whether sign is the signature of the body in either form of
// the ampersand. It compares in constant time. The error wraps [ErrBody].
func Verify(secret, path string, body []byte, sign string) (bool, error) {
	plain, err := Canonical(body, PlainAmpersand)
	if err != nil {
		return false, err
	}
	ok := equalSign(digest(secret, path, plain), sign)
	if bytes.IndexByte(plain, '&') < 0 {
		return ok, nil
	}
	hexed, err := Canonical(body, HexAmpersand)
	if err != nil {
		return false, err
	}
	return ok || equalSign(digest(secret, path, hexed), sign), nil
}

func equalSign(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func digest(secret, path string, canonical []byte) string {
	h := md5.New() //nolint:gosec // see the import
	io.WriteString(h, secret)
	io.WriteString(h, path)
	h.Write(canonical)
	io.WriteString(h, secret)
	return string(bytes.ToUpper(hex.AppendEncode(nil, h.Sum(nil))))
}

type member struct {
	name  string
	value jsontext.Value // as it stands in the body
}

// splitMembers takes the top level of a JSON object apart. jsontext refuses
// duplicate names and invalid UTF-8 at every level.
func splitMembers(body []byte) ([]member, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	if dec.PeekKind() != '{' {
		return nil, fmt.Errorf("%w: want an object", ErrBody)
	}
	var members []member
	if _, err := dec.ReadToken(); err != nil {
		return nil, bodyError(err)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, bodyError(err)
		}
		m := member{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, bodyError(err)
		}
		m.value = value.Clone()
		members = append(members, m)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, bodyError(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: data after the object", ErrBody)
	}
	return members, nil
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

type canonicalWriter struct {
	out []byte
	amp Ampersand
}

// value appends one JSON value: white space removed, strings re-escaped,
// members and numbers as they stand.
func (c *canonicalWriter) value(v jsontext.Value) error {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return bodyError(err)
		}
		if dec.StackDepth() > maxDepth {
			return fmt.Errorf("%w: nested deeper than %d", ErrBody, maxDepth)
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
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			c.out = append(c.out, '\\', byte(r))
		case r == '&' && c.amp == HexAmpersand, r == '\u2028', r == '\u2029':
			c.out = fmt.Appendf(c.out, `\u%04x`, r)
		case r < ' ':
			c.out = appendControl(c.out, byte(r))
		default:
			c.out = append(c.out, string(r)...)
		}
	}
	c.out = append(c.out, '"')
}

func appendControl(b []byte, r byte) []byte {
	if i := bytes.IndexByte([]byte("\b\f\n\r\t"), r); i >= 0 {
		return append(b, '\\', "bfnrt"[i])
	}
	return fmt.Appendf(b, `\u%04x`, r)
}
