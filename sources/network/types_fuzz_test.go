package network

import (
	"errors"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/network/internal/wire"
)

// FuzzTypes reads a value as every type that a parameter can have, and compares
// with a slow reading of the same rules. What breaks a rule is told without the
// value.
func FuzzTypes(f *testing.F) {
	for _, text := range []string{
		"", "0", "-0", "1", "01", "-1", "+1", "1.0", "1.", ".5", "1e5", "1e+-5", "-+1", "--1", "NaN", "Inf", "0x1", "1_0", " 1", "1 ", "１",
		"9999999999999999", "-9999999999999999", "10000000000000000", "99999999.99", "100000000", "0.001", "-0.00", "00000000.1", "12345678.9",
		"CNY", "cny", "ZZZ", "USD ", "XXX", "yes", "TRUE", "no", "2", "a\x00b", "\xff", "\u2028", strings.Repeat("单", 255), strings.Repeat("😀", 256),
		"2026-11-12", "2026-11-12T08:00:00Z", "2026-11-12T08:00:00+08:00", "2026-11-12T08:00", "2026-11-12T08:00-03:30", "20261112T080000Z", "20261112T080000+0800",
		"2026-02-29", "2024-02-29", "2026-11-12T24:00:00", "2026-11-12T23:59:60Z", "2026-11-12T08:00:00.123456789Z", "2026-11-12T08:00:00,5", "2026-11-12T8:00:00Z",
		"2026-1-2", "0000-01-01", "9999-12-31T23:59:59-12:00", "2026-11-12 08:00:00", "2026-11-12t08:00:00z", "2026-W46-4", "2026-11-12T08:00:00+24:00", "20261112T8000Z",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // which no body can hold
		}
		checkTextType(t, text)
		checkInteger(t, text)
		checkAmount(t, text)
		checkCurrency(t, text)
		checkDateTime(t, text)
		checkFlag(t, text)
	})
}

// formOf is a form with one parameter.
func formOf(text string) *form {
	return &form{params: wire.Params{{Name: "P", Kind: '"', Text: text, Size: len(text)}}}
}

// verdict compares whether a value is taken, and looks at the refusal.
func verdict(t *testing.T, kind, text string, f *form, want bool) {
	t.Helper()
	if want != (f.err == nil) {
		t.Fatalf("%s %q: %v, want it taken: %v", kind, text, f.err, want)
	}
	var wrong *schema.ParamError
	if f.err != nil && (!errors.As(f.err, &wrong) || wrong.Name != "P" || wrong.Rule == "" || wrong.Length != len(text)) {
		t.Fatalf("%s %q: refused with %#v", kind, text, f.err)
	}
}

// isString is the rule for every value.
func isString(text string) bool { return len([]rune(text)) <= 255 && !strings.Contains(text, "\x00") }

func checkTextType(t *testing.T, text string) {
	f := formOf(text)
	got := f.text("P")
	verdict(t, "string", text, f, isString(text))
	if f.err == nil && got != text {
		t.Fatalf("string %q: %q", text, got)
	}
	f = formOf(text)
	f.required("P")
	verdict(t, "required", text, f, isString(text) && text != "")
}

func checkInteger(t *testing.T, text string) {
	n, ok := new(big.Int).SetString(text, 10)
	ok = ok && integerPattern.MatchString(text)
	in := func(least, most int64) bool {
		return text == "" || ok && n.Cmp(big.NewInt(least)) >= 0 && n.Cmp(big.NewInt(most)) <= 0
	}
	for _, limits := range [][2]int64{{-maxInteger, maxInteger}, {1, 200}, {-5, 0}} {
		f := formOf(text)
		got := f.integer("P", 7, limits[0], limits[1])
		verdict(t, "integer", text, f, in(limits[0], limits[1]))
		if f.err == nil && text != "" && got != n.Int64() || text == "" && got != 7 {
			t.Fatalf("integer %q: %d", text, got)
		}
	}
	f := formOf(text)
	f.requiredInteger("P")
	verdict(t, "required integer", text, f, text != "" && in(0, maxInteger))
}

func checkAmount(t *testing.T, text string) {
	value, isNumber := new(big.Rat).SetString(text)
	ok := isNumber && decimalPattern.MatchString(text)
	f := formOf(text)
	got, given := f.amount("P")
	verdict(t, "amount", text, f, text == "" || ok && value.Sign() >= 0)
	if given != (f.err == nil && text != "") {
		t.Fatalf("amount %q: given %v", text, given)
	}
	if given && value.Mul(value, big.NewRat(100, 1)).Cmp(new(big.Rat).SetInt64(int64(got))) != 0 {
		t.Fatalf("amount %q: %d cents", text, got)
	}
	if (schema.ValidateDecimal("P", text) == nil) != ok {
		t.Fatalf("decimal %q: want it taken: %v", text, ok)
	}
}

func checkCurrency(t *testing.T, text string) {
	f := formOf(text)
	got := f.currency("P", "CNY")
	switch {
	case text == "" || slices.Contains(currencies, text):
		verdict(t, "currency", text, f, true)
	case !currencyPattern.MatchString(text):
		verdict(t, "currency", text, f, false)
	}
	if f.err == nil && text != "" && got != text {
		t.Fatalf("currency %q: %q", text, got)
	}
}

func checkDateTime(t *testing.T, text string) {
	f := formOf(text)
	got := f.dateTime("P", time.FixedZone("", 8*3600), -1)
	want, ok := slowDateTime(text, 8*3600)
	verdict(t, "datetime", text, f, text == "" || isString(text) && ok)
	if f.err == nil && text != "" && got != want {
		t.Fatalf("datetime %q: %d, want %d", text, got, want)
	}
}

func checkFlag(t *testing.T, text string) {
	f := formOf(text)
	got := f.flag("P")
	yes := regexp.MustCompile(`^(?i:1|true|yes)$`).MatchString(text)
	no := regexp.MustCompile(`^(?i:0|false|no)?$`).MatchString(text)
	verdict(t, "flag", text, f, yes || no)
	if got != yes {
		t.Fatalf("flag %q: %v", text, got)
	}
}
