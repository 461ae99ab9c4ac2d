package schema

// maxDepth is how deep objects and arrays of one document may be nested.
const maxDepth = 10000

// walk says how a value is walked, which decides where some faults are
// reported; what is valid is the same.
type walk int8

const (
	// whole takes the value in one step: a comma before a closing bracket is
	// fine, the bracket is the fault.
	whole walk = iota
	// steps takes it token by token: such a comma is the fault itself.
	steps
)

// value walks the value at i, which stands inside depth objects and arrays.
func (s *scanner) value(depth int, w walk) bool {
	switch s.b[s.i] {
	case '{':
		return s.object(depth, w)
	case '[':
		return s.array(depth, w)
	default:
		return s.scalar()
	}
}

// scalar walks the string, number or literal at i.
func (s *scanner) scalar() bool {
	switch c := s.b[s.i]; {
	case c == '"':
		return s.str()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	case c == '-' || isDigit(c):
		return s.number()
	default:
		return s.fail(s.i)
	}
}

// enter walks the bracket at i and reports whether anything follows.
func (s *scanner) enter(depth int) bool {
	if depth >= maxDepth {
		return s.fail(s.i)
	}
	s.i++
	return s.space()
}

func (s *scanner) object(depth int, w walk) bool {
	if !s.enter(depth) {
		return false
	}
	if s.b[s.i] == '}' {
		s.i++
		return true
	}
	var names nameSet
	for {
		start := s.i
		if s.b[start] != '"' {
			return s.noName(w)
		}
		if !s.str() {
			return false
		}
		if !names.add(s.b[start:s.i], s.escapes) {
			return s.fail(start)
		}
		if !s.colon() || !s.value(depth+1, w) {
			return false
		}
		if more, ok := s.comma('}', w); !more {
			return ok
		}
	}
}

func (s *scanner) array(depth int, w walk) bool {
	if !s.enter(depth) {
		return false
	}
	if s.b[s.i] == ']' {
		s.i++
		return true
	}
	for s.value(depth+1, w) {
		if more, ok := s.comma(']', w); !more {
			return ok
		}
	}
	return false
}

// noName reports that what stands at i is no member name. Token by token, a
// number or literal has to be sound before it is found to be out of place.
func (s *scanner) noName(w walk) bool {
	start := s.i
	if w == steps && !s.scalar() {
		return false
	}
	return s.fail(start)
}

// colon walks the colon behind a member name, up to the value.
func (s *scanner) colon() bool {
	if !s.space() {
		return false
	}
	if s.b[s.i] != ':' {
		return s.fail(s.i)
	}
	s.i++
	return s.space()
}

// comma walks what follows a member or element: a comma, up to the next one,
// or the closing bracket. ok is false at a fault.
func (s *scanner) comma(bracket byte, w walk) (more, ok bool) {
	if !s.space() {
		return false, false
	}
	at := s.i
	switch s.b[at] {
	case bracket:
		s.i++
		return false, true
	case ',':
		s.i++
	default:
		return false, s.fail(at)
	}
	if !s.space() {
		return false, false
	}
	if c := s.b[s.i]; w == steps && (c == '}' || c == ']') {
		return false, s.fail(at)
	}
	return true, true
}

// number walks the number at i.
func (s *scanner) number() bool {
	start := s.i
	i := start
	if s.b[i] == '-' {
		i++
	}
	if i < len(s.b) && s.b[i] == '0' {
		i++
	} else if i = s.digits(i, start); i < 0 {
		return false
	}
	if i < len(s.b) && s.b[i] == '.' {
		if i = s.digits(i+1, start); i < 0 {
			return false
		}
	}
	if i < len(s.b) && s.b[i]|0x20 == 'e' {
		if i++; i < len(s.b) && (s.b[i] == '+' || s.b[i] == '-') {
			i++
		}
		if i = s.digits(i, start); i < 0 {
			return false
		}
	}
	s.i = i
	return true
}

// digits returns where the digits at i end, -1 when there is none: a number
// that is cut is reported at its start, a byte out of place where it stands.
func (s *scanner) digits(i, start int) int {
	first := i
	for i < len(s.b) && isDigit(s.b[i]) {
		i++
	}
	switch {
	case i > first:
		return i
	case i >= len(s.b):
		s.fail(start)
	default:
		s.fail(i)
	}
	return -1
}

// literal walks the word at i.
func (s *scanner) literal(word string) bool {
	for i := range len(word) {
		if s.i+i >= len(s.b) || s.b[s.i+i] != word[i] {
			return s.fail(s.i + i)
		}
	}
	s.i += len(word)
	return true
}
