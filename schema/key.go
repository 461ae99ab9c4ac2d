package schema

import (
	"errors"
	"fmt"
	"strings"
)

// SubjectRoot is the first token of every subject of the log.
const SubjectRoot = "orders"

// ErrSubject marks a text that is no subject or key of the log.
var ErrSubject = errors.New("not a subject of the order log")

// OrderKey names an order: the account of Orderwire that sees it, the program
// and the order number of the network. An order number alone is unique only
// within its program.
type OrderKey struct {
	Account string // name of the account in the configuration
	Program string // ProgramId; may be empty
	OrderSn string // OrderSn, never empty
}

// String returns the key as three escaped tokens, "account.program.order": the
// key of the order in the state bucket, and the middle of its subjects.
func (k OrderKey) String() string {
	return string(k.AppendTo(make([]byte, 0, len(k.Account)+len(k.Program)+len(k.OrderSn)+8)))
}

// AppendTo appends what String returns.
func (k OrderKey) AppendTo(b []byte) []byte {
	b = append(AppendToken(b, k.Account), '.')
	b = append(AppendToken(b, k.Program), '.')
	return AppendToken(b, k.OrderSn)
}

// Subject returns the subject of the order's events of one type,
// "orders.account.program.order.created" for instance.
func (k OrderKey) Subject(t EventType) string {
	return SubjectRoot + "." + k.String() + "." + t.Token()
}

// Subjects returns the filter that matches all events of the order.
func (k OrderKey) Subjects() string { return SubjectRoot + "." + k.String() + ".*" }

// ParseOrderKey reads what String returns. The error wraps [ErrSubject].
func ParseOrderKey(s string) (OrderKey, error) {
	tokens := strings.Split(s, ".")
	if len(tokens) != 3 {
		return OrderKey{}, fmt.Errorf("%w: key %q has %d tokens, not 3", ErrSubject, clip(s), len(tokens))
	}
	var parts [3]string
	for i, t := range tokens {
		p, err := UnescapeToken(t)
		if err != nil {
			return OrderKey{}, err
		}
		parts[i] = p
	}
	return OrderKey{Account: parts[0], Program: parts[1], OrderSn: parts[2]}, nil
}

// ParseSubject takes a subject of the log apart. The error wraps [ErrSubject].
func ParseSubject(subject string) (OrderKey, EventType, error) {
	rest, ok := strings.CutPrefix(subject, SubjectRoot+".")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return OrderKey{}, "", fmt.Errorf("%w: %q", ErrSubject, clip(subject))
	}
	key, err := ParseOrderKey(rest[:dot])
	if err != nil {
		return OrderKey{}, "", err
	}
	t, err := ParseEventToken(rest[dot+1:])
	return key, t, err
}

// EscapeToken makes any text a token of a NATS subject and of a KV key: bytes
// outside A-Z a-z 0-9 _ - become =XX (hexadecimal, upper case), and the empty
// text becomes "=".
func EscapeToken(s string) string { return string(AppendToken(nil, s)) }

// UnescapeToken reverses [EscapeToken]. It accepts only what EscapeToken
// writes, so that every text has one token. The error wraps [ErrSubject].
func UnescapeToken(token string) (string, error) {
	if token == "=" {
		return "", nil
	}
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c == '=' {
			decoded, ok := unhexPair(token[i+1:])
			if !ok || plainTokenByte(decoded) {
				return "", fmt.Errorf("%w: bad escape in token %q", ErrSubject, clip(token))
			}
			b.WriteByte(decoded)
			i += 2
			continue
		}
		if !plainTokenByte(c) {
			return "", fmt.Errorf("%w: byte %#02x in token %q", ErrSubject, c, clip(token))
		}
		b.WriteByte(c)
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("%w: empty token", ErrSubject)
	}
	return b.String(), nil
}

const hexDigits = "0123456789ABCDEF"

// AppendToken appends what [EscapeToken] returns.
func AppendToken[T string | []byte](b []byte, s T) []byte {
	if len(s) == 0 {
		return append(b, '=')
	}
	for i := range len(s) {
		if c := s[i]; plainTokenByte(c) {
			b = append(b, c)
		} else {
			b = append(b, '=', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return b
}

func plainTokenByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '-'
}

func unhexPair(s string) (byte, bool) {
	if len(s) < 2 {
		return 0, false
	}
	hi, lo := strings.IndexByte(hexDigits, s[0]), strings.IndexByte(hexDigits, s[1])
	return byte(hi<<4 | lo&15), hi >= 0 && lo >= 0
}
