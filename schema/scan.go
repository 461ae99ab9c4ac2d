package schema

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner walks a JSON text once and copies nothing. It takes what RFC 8259
// calls valid and RFC 7493 (I-JSON) calls interoperable: valid UTF-8, no half
// of a surrogate pair, no member name twice in an object.
//
// Every method that walks returns false at the first fault; at is then its
// offset. What they walk begins at i, and i stands behind it afterwards.
type scanner struct {
	b  []byte
	i  int // next byte
	at int // offset of the fault

	escapes bool // the last string that str walked holds an escape
	loose   bool // white space, or a string that could be written shorter
}

// fail sets the fault.
func (s *scanner) fail(at int) bool {
	s.at = at
	return false
}

// space walks white space and reports whether anything follows. When nothing
// does, the fault is the end of the text.
func (s *scanner) space() bool {
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return true
		}
		s.i++
		s.loose = true
	}
	return s.fail(len(s.b))
}

// end checks that only white space follows.
func (s *scanner) end() bool { return !s.space() || s.fail(s.i) }

// str walks the string at i.
func (s *scanner) str() bool {
	s.escapes = false
	i := s.i + 1
	for {
		next, high := plain(s.b, i)
		if high && !utf8.Valid(s.b[i:next]) {
			return s.fail(i + validPrefix(s.b[i:next]))
		}
		i = next
		switch {
		case i >= len(s.b):
			return s.fail(len(s.b))
		case s.b[i] == '"':
			s.i = i + 1
			return true
		case s.b[i] != '\\':
			return s.fail(i)
		}
		n := s.escape(i)
		if n == 0 {
			return s.fail(i)
		}
		i += n
	}
}

// simple returns where the string that begins at i ends, behind its quote, when
// it is nothing but ASCII without escapes; otherwise 0, and str must look.
func simple(b []byte, i int) int {
	const highs = 0x8080808080808080
	i++
	for len(b)-i >= 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		if m := notable(w) | w&highs; m != 0 {
			n := bits.TrailingZeros64(m) &^ 7 // bits before the marked byte
			if byte(w>>(n&63)) == '"' {
				return i + n>>3 + 1
			}
			return 0
		}
		i += 8
	}
	return 0
}

// plain returns where the stretch of a string that begins at i ends: at a
// quote, a backslash, a control character or the end of b. high reports
// whether it holds bytes beyond ASCII.
func plain(b []byte, i int) (end int, high bool) {
	const highs = 0x8080808080808080
	for len(b)-i >= 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		if m := notable(w); m != 0 {
			return i + bits.TrailingZeros64(m)>>3, high || w&highs&(m&-m-1) != 0
		}
		high = high || w&highs != 0
		i += 8
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
		high = high || b[i] >= utf8.RuneSelf
		i++
	}
	return i, high
}

// notable marks, by their highest bit, the bytes of w that are a quote, a
// backslash or a control character; the lowest mark is exact. Flipping bit 1
// puts the quote (0x22) right behind the control characters, so that one
// comparison finds both.
func notable(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	low := (w ^ ones*2) - ones*(' '+1)
	slash := (w ^ ones*'\\') - ones
	return (low | slash) &^ w & highs
}

// validPrefix returns the length of the valid UTF-8 at the start of b.
func validPrefix(b []byte) int {
	n := 0
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		n += size
	}
	return n
}

// escape returns the length of the escape sequence at i, 0 when it is none. A
// surrogate pair counts as one sequence.
func (s *scanner) escape(i int) int {
	s.escapes = true
	if i+1 >= len(s.b) {
		return 0
	}
	switch s.b[i+1] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return 2
	case '/':
		s.loose = true
		return 2
	case 'u':
		return s.unicode(i)
	default:
		return 0
	}
}

func (s *scanner) unicode(i int) int {
	r, ok := hex4(s.b[i:])
	if !ok {
		return 0
	}
	// The shortest form has \u for control characters alone, in lower case.
	s.loose = s.loose || r >= ' ' || r == '\b' || r == '\f' || r == '\n' || r == '\r' || r == '\t' || s.b[i+5] < 'a' && s.b[i+5] > '9'
	if !utf16.IsSurrogate(r) {
		return 6
	}
	low, ok := hex4(s.b[i+6:])
	if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
		return 0
	}
	return 12
}

// hex4 reads \uXXXX at the start of b.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
