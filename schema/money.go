package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
)

// MoneyScale is the number of decimal places of an amount (specification 2.1
// and 2.3: decimal(10,2)).
const MoneyScale = 2

// maxCents is the largest magnitude of decimal(10,2), in hundredths.
const maxCents = 99_999_999_99

var (
	errTrailing = errors.New("data after the JSON value")

	// ErrAmount marks text that is no plain decimal number.
	ErrAmount = errors.New("not a decimal number")
	// ErrAmountRange marks a number that decimal(10,2) cannot hold exactly:
	// more than 8 digits before the point, or more than 2 after it.
	ErrAmountRange = errors.New("outside decimal(10,2)")
)

// Money is an amount, decimal(10,2) in the specification. It keeps the text
// in which the network sent it ("12.50" stays "12.50", and does not become
// "12.5") beside its value. The currency stands in another field of the order.
//
// The zero Money is an absent amount. An empty string, which the network sends
// for amounts that are not yet known, is present but has no value: it counts
// as zero and is written back as an empty string.
type Money struct {
	text Text
}

// ParseMoney reads an amount: an optional sign, digits, an optional fraction,
// an optional small exponent. Empty text is a present amount without a value.
// The error wraps [ErrAmount].
func ParseMoney(s string) (Money, error) {
	if s != "" && !plainDecimal(s) {
		return Money{}, fmt.Errorf("amount %q: %w", clip(s), ErrAmount)
	}
	return Money{text: NewText(s)}, nil
}

// NewMoney returns an amount with two decimal places, rounded half away from
// zero.
func NewMoney(d decimal.Decimal) Money {
	return Money{text: NewText(d.StringFixed(MoneyScale))}
}

// MoneyFromCents returns the amount of c hundredths. It makes no decimal in between,
// which would be a fourth of the time of a long report.
func MoneyFromCents(c int64) Money {
	var room [24]byte
	b, n := room[:0], uint64(c)
	if c < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendUint(b, n/100, 10)
	return Money{text: NewText(string(append(b, '.', '0'+byte(n/10%10), '0'+byte(n%10))))}
}

// String returns the text of the amount as it was sent, "" when it is absent.
func (m Money) String() string { return m.text.value }

// IsZero reports whether the amount is absent (not whether it is 0.00).
func (m Money) IsZero() bool { return m.text.IsZero() }

// Known reports whether there is a number: an absent or empty amount has none.
func (m Money) Known() bool { return m.text.value != "" }

// Decimal returns the value; zero when the amount is absent or empty.
func (m Money) Decimal() decimal.Decimal {
	if m.text.value == "" {
		return decimal.Zero
	}
	d, err := decimal.NewFromString(m.text.value)
	if err != nil { // ruled out by plainDecimal, which every constructor calls
		return decimal.Zero
	}
	return d
}

// Cents returns the amount in hundredths, 0 when it is absent or empty. The
// error wraps [ErrAmountRange] when decimal(10,2) cannot hold it exactly.
func (m Money) Cents() (int64, error) {
	if c, ok := fastCents(m.text.value); ok {
		return c, nil
	}
	shifted := m.Decimal().Shift(MoneyScale)
	if !shifted.IsInteger() || shifted.Abs().GreaterThan(decimal.New(maxCents, 0)) {
		return 0, fmt.Errorf("amount %q: %w", clip(m.text.value), ErrAmountRange)
	}
	return shifted.IntPart(), nil
}

// Equal compares values: "12.5" equals "12.50", and an absent amount equals an
// empty one, but neither equals "0.00".
func (m Money) Equal(o Money) bool {
	if m.text.value == o.text.value {
		return true
	}
	return m.Known() && o.Known() && m.Decimal().Equal(o.Decimal())
}

// AppendJSON appends the amount to dst as a JSON string holding its text, null
// when it is absent; see [Text.AppendJSON].
func (m Money) AppendJSON(dst []byte) ([]byte, error) { return m.text.AppendJSON(dst) }

// MarshalJSONTo writes the amount as a JSON string holding its text.
func (m Money) MarshalJSONTo(enc *jsontext.Encoder) error { return m.text.MarshalJSONTo(enc) }

// UnmarshalJSONFrom reads a JSON string or number.
func (m *Money) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	s, set, err := readScalar(dec)
	if err != nil {
		return err
	}
	if !set {
		*m = Money{}
		return nil
	}
	*m, err = ParseMoney(s)
	return err
}

// MarshalJSON serves encoding/json.
func (m Money) MarshalJSON() ([]byte, error) { return m.text.MarshalJSON() }

// UnmarshalJSON serves encoding/json.
func (m *Money) UnmarshalJSON(b []byte) error { return unmarshalWith(b, m.UnmarshalJSONFrom) }

// plainDecimal reports whether s is a decimal number short enough to compute
// with: at most 32 bytes and an exponent of at most two digits, so that a
// hostile "1e999999999" costs nothing.
func plainDecimal(s string) bool {
	if len(s) > 32 {
		return false
	}
	mantissa, exponent, hasExp := strings.Cut(strings.ToLower(s), "e")
	if hasExp && !digits(strings.TrimLeft(exponent, "+-"), 1, 2) {
		return false
	}
	mantissa = strings.TrimPrefix(strings.TrimPrefix(mantissa, "-"), "+")
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	return digits(whole, 1, 32) && (!hasPoint || digits(fraction, 1, 32))
}

// usualDecimal reports whether s is an amount in its usual writing, "-12.50".
// Every such text is a plainDecimal.
func usualDecimal(s string) bool {
	if len(s) > 16 {
		return false
	}
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	whole := 0
	for whole < len(s) && isDigit(s[whole]) {
		whole++
	}
	return whole > 0 && (whole == len(s) || s[whole] == '.' && digits(s[whole+1:], 1, 16))
}

func digits(s string, least, most int) bool {
	if len(s) < least || len(s) > most {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// fastCents reads the usual forms "", "123" and "123.45" without big numbers.
func fastCents(s string) (int64, bool) {
	if s == "" {
		return 0, true
	}
	whole, fraction, _ := strings.Cut(s, ".")
	unsigned := strings.TrimPrefix(whole, "-")
	if !digits(unsigned, 1, 8) || !digits(fraction, 0, MoneyScale) {
		return 0, false
	}
	n, err := strconv.ParseInt(unsigned+(fraction + "00")[:MoneyScale], 10, 64)
	if err != nil {
		return 0, false
	}
	if len(unsigned) != len(whole) {
		n = -n
	}
	return n, true
}

// clip shortens text for an error message.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
