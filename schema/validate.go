package schema

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/currency"
)

// The limits of specification 2.1 and 8.
const (
	MaxStringRunes   = 255 // characters of a string
	MaxIntegerDigits = 16  // digits of an integer
	MaxAmountDigits  = 8   // digits of a decimal before the point
)

// ParamError says which rule of specification 2.1 a parameter broke. It holds
// the length of the value and not the value, which may be a secret.
type ParamError struct {
	Name   string // parameter, as the API spells it
	Rule   string // what the specification asks for
	Length int    // length of the value, in bytes
}

// Error names the parameter, the rule and the value's length.
func (e *ParamError) Error() string {
	return fmt.Sprintf("parameter %s: want %s (the value has %d bytes)", e.Name, e.Rule, e.Length)
}

// ValidateString checks a string: UTF-8, at most 255 characters.
func ValidateString(name, s string) error {
	if !utf8.ValidString(s) {
		return &ParamError{name, "UTF-8", len(s)}
	}
	if len(s) > MaxStringRunes && utf8.RuneCountInString(s) > MaxStringRunes {
		return &ParamError{name, "at most 255 characters", len(s)}
	}
	return nil
}

// ValidateDecimal checks an amount: at most 8 digits before the point and 2
// after it, no exponent.
func ValidateDecimal(name, s string) error {
	if _, ok := fastCents(s); !ok || s == "" || s[len(s)-1] == '.' {
		return &ParamError{name, "a decimal of at most 8 digits and 2 decimal places", len(s)}
	}
	return nil
}

// ValidateInteger checks an integer: an optional minus, then at most 16 digits.
func ValidateInteger(name, s string) error {
	unsigned := s
	if s != "" && s[0] == '-' {
		unsigned = s[1:]
	}
	if !digits(unsigned, 1, MaxIntegerDigits) {
		return &ParamError{name, "an integer of at most 16 digits", len(s)}
	}
	return nil
}

// ValidateCurrency checks an ISO 4217 code in upper case.
func ValidateCurrency(name, s string) error {
	unit, err := currency.ParseISO(s)
	if err != nil || unit.String() != s {
		return &ParamError{name, "an ISO 4217 currency code", len(s)}
	}
	return nil
}

var dateTimeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
	"20060102T150405Z0700", "20060102T150405", time.DateOnly,
}

// ParseDateTime reads an ISO 8601 date and time; loc is the zone of one that
// names none. The usual profiles are taken: extended and basic format, seconds
// and zone optional, or a date alone.
func ParseDateTime(name, s string, loc *time.Location) (time.Time, error) {
	for _, layout := range dateTimeLayouts {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil && strictClock(s) {
			return t, nil
		}
	}
	return time.Time{}, &ParamError{name, "an ISO 8601 date and time", len(s)}
}

// strictClock reports whether the hour has two digits and the zone is less than
// a day, of which package time takes more.
func strictClock(s string) bool {
	_, clock, given := strings.Cut(s, "T")
	if !given {
		return true
	}
	if len(clock) < 2 || !digits(clock[:2], 2, 2) {
		return false
	}
	sign := strings.LastIndexAny(clock, "+-")
	if sign < 0 {
		return true
	}
	zone := strings.Replace(clock[sign+1:], ":", "", 1)
	return len(zone) == 4 && zone[:2] < "24" && zone[2:] < "60"
}
