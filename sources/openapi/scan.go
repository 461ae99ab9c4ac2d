package openapi

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// What a scanner finds wrong. None of them quotes the text.
var (
	errCut     = errors.New("the text ends in the middle of a value")
	errByte    = errors.New("a byte that begins no value")
	errNumber  = errors.New("a malformed number")
	errEscape  = errors.New("a malformed escape in a string")
	errControl = errors.New("a control character in a string")
	errName    = errors.New("want a member name")
	errColon   = errors.New("want a colon after a member name")
	errComma   = errors.New("want a comma or the end of the object or array")
	errMore    = errors.New("data after the value")
	errDeep    = errors.New("nested too deep")
)

// scanner walks a JSON text once, checks its grammar (RFC 8259) and copies
// nothing. It takes what encoding/json calls valid, down to maxDepth levels:
// UTF-8 and duplicate names are for whoever decodes the values.
//
// Every method that walks returns false at the first fault, which then stands
// in err, and leaves i behind what it has read otherwise.
type scanner struct {
	b   []byte
	i   int // next byte
	err *BodyError
}

func (s *scanner) fail(kind BodyKind, err error) bool {
	s.err = &BodyError{Kind: kind, Offset: int64(s.i), Err: err}
	return false
}

// broken reports a grammar fault at i, or the end of the text.
func (s *scanner) broken(err error) bool {
	if s.i >= len(s.b) {
		s.i = len(s.b)
		return s.fail(BodyCut, errCut)
	}
	return s.fail(BodySyntax, err)
}

// peek skips white space and returns the byte behind it, 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		s.i++
	}
	return 0
}

// end checks that only white space follows.
func (s *scanner) end() bool {
	if s.peek(); s.i < len(s.b) {
		return s.fail(BodySyntax, errMore)
	}
	return true
}

// span walks one value and returns the bytes in which it stands.
func (s *scanner) span(depth int) ([]byte, bool) {
	s.peek()
	start := s.i
	ok := s.value(depth)
	return s.b[start:s.i:s.i], ok
}

// value walks one value that may hold depth levels of objects and arrays.
func (s *scanner) value(depth int) bool {
	switch s.peek() {
	case '"':
		return s.str()
	case '{':
		return s.object(depth)
	case '[':
		return s.array(depth)
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

func (s *scanner) object(depth int) bool {
	if !s.opens(depth) {
		return false
	}
	if s.peek() == '}' {
		s.i++
		return true
	}
	for s.name() && s.value(depth-1) {
		if s.peek() != ',' {
			return s.closes('}')
		}
		s.i++
	}
	return false
}

func (s *scanner) array(depth int) bool {
	if !s.opens(depth) {
		return false
	}
	if s.peek() == ']' {
		s.i++
		return true
	}
	for s.value(depth - 1) {
		if s.peek() != ',' {
			return s.closes(']')
		}
		s.i++
	}
	return false
}

// opens walks the bracket at i.
func (s *scanner) opens(depth int) bool {
	if depth <= 0 {
		return s.fail(BodySyntax, errDeep)
	}
	s.i++
	return true
}

// closes walks the bracket that ends an object or array.
func (s *scanner) closes(bracket byte) bool {
	if s.i >= len(s.b) || s.b[s.i] != bracket {
		return s.broken(errComma)
	}
	s.i++
	return true
}

// name walks a member name and its colon.
func (s *scanner) name() bool {
	if s.peek() != '"' {
		return s.broken(errName)
	}
	if !s.str() {
		return false
	}
	if s.peek() != ':' {
		return s.broken(errColon)
	}
	s.i++
	return true
}

// str walks the string at i.
func (s *scanner) str() bool {
	s.i++
	for {
		s.plain()
		switch {
		case s.i >= len(s.b):
			return s.broken(errCut)
		case s.b[s.i] == '"':
			s.i++
			return true
		case s.b[s.i] != '\\':
			return s.fail(BodySyntax, errControl)
		case !s.escape():
			return false
		}
	}
}

// plain walks the stretch of a string up to its next quote, backslash or
// control character, eight bytes at a time where it can.
func (s *scanner) plain() {
	b, i := s.b, s.i
	for len(b)-i >= 8 {
		if m := notable(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			s.i = i + bits.TrailingZeros64(m)>>3
			return
		}
		i += 8
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
		i++
	}
	s.i = i
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

// escape walks the escape sequence at i.
func (s *scanner) escape() bool {
	s.i++
	if s.i >= len(s.b) {
		return s.broken(errEscape)
	}
	switch s.b[s.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i++
		return true
	case 'u':
		s.i++
		return s.hex(4)
	default:
		return s.fail(BodySyntax, errEscape)
	}
}

func (s *scanner) hex(n int) bool {
	for range n {
		if s.i >= len(s.b) || !isHex(s.b[s.i]) {
			return s.broken(errEscape)
		}
		s.i++
	}
	return true
}

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (s *scanner) literal(word string) bool {
	for i := range len(word) {
		if s.i >= len(s.b) || s.b[s.i] != word[i] {
			return s.broken(errByte)
		}
		s.i++
	}
	return true
}

// number walks a number, which everything that begins like no other value is
// taken for.
func (s *scanner) number() bool {
	signed := s.at('-')
	if !s.at('0') && !s.digits() {
		if signed {
			return s.broken(errNumber)
		}
		return s.broken(errByte)
	}
	if s.at('.') && !s.digits() {
		return s.broken(errNumber)
	}
	if s.at('e') || s.at('E') {
		_ = s.at('+') || s.at('-')
		if !s.digits() {
			return s.broken(errNumber)
		}
	}
	return true
}

// at walks c when it stands at i.
func (s *scanner) at(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// digits walks one digit or more.
func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && isDigit(s.b[s.i]) {
		s.i++
	}
	return s.i > start
}
