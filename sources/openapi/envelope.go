package openapi

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	errEnvelope = errors.New("want an object with Status, Message and Data")
	errStatus   = errors.New("want an integer as Status")
)

// Envelope is the outside of every answer (specification 2.3 and 7.2). All of
// its members are optional in what the network sends.
type Envelope struct {
	// Status is the outcome. Which values mean success is not documented; see
	// [Config]. It is read from a number or a string, and written as a number.
	Status int `json:"Status"`
	// NoStatus marks an answer without Status (absent or null); Status is then 0.
	NoStatus bool `json:"-"`
	// Message is the network's explanation of a failure, "" when there is none.
	Message string `json:"Message"`
	// Data is the payload as it was sent, nil when it is absent. After
	// [ParseEnvelope] it lies in the parsed bytes.
	Data jsontext.Value `json:"Data,omitzero"`
}

// ParseEnvelope takes an answer apart without decoding its payload. The whole
// body is checked to be JSON of at most 64 levels; members beside the three
// are skipped, and of a repeated member the last one counts. The error is a
// [*BodyError].
func ParseEnvelope(body []byte) (Envelope, error) { return parseAnswer(body, nil) }

// Encode returns the envelope as compact JSON, without Data when that is nil.
// The error says that Data is no JSON value.
func (e Envelope) Encode() ([]byte, error) {
	out, err := json.Marshal(e)
	if err != nil {
		return nil, errors.New("envelope: Data is no valid JSON value")
	}
	return out, nil
}

// HasData reports whether the envelope holds a payload other than null.
func (e Envelope) HasData() bool { return len(e.Data) > 0 && e.Data[0] != 'n' }

// parseAnswer parses an envelope and, in the same walk, splits Data into the
// records of a list when the caller wants one.
func parseAnswer(body []byte, list *listing) (Envelope, error) {
	s := scanner{b: body}
	var e Envelope
	if s.envelope(&e, list) && s.end() {
		return e, nil
	}
	return Envelope{}, s.err
}

func (s *scanner) envelope(e *Envelope, list *listing) bool {
	switch s.peek() {
	case '{':
	case '<':
		return s.fail(BodyHTML, errEnvelope)
	default:
		start := s.i
		if !s.value(maxDepth) {
			return false
		}
		s.i = start
		return s.fail(BodyShape, errEnvelope)
	}
	e.NoStatus = true
	return s.members(maxDepth, func(name []byte) bool {
		switch string(name) {
		case "Status":
			return s.status(e)
		case "Message":
			return s.message(e)
		case "Data":
			return s.data(e, list)
		default:
			return s.value(maxDepth - 1)
		}
	})
}

// members walks the object at i and calls visit at every value with its name;
// visit has to walk the value.
func (s *scanner) members(depth int, visit func(name []byte) bool) bool {
	if !s.opens(depth) {
		return false
	}
	if s.peek() == '}' {
		s.i++
		return true
	}
	for {
		s.peek()
		start := s.i
		if !s.name() || !visit(unquoteName(s.b[start:s.i])) {
			return false
		}
		if s.peek() != ',' {
			return s.closes('}')
		}
		s.i++
	}
}

// unquoteName takes a checked name with what follows it, up to its colon.
func unquoteName(raw []byte) []byte {
	raw = raw[:bytes.LastIndexByte(raw, '"')+1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	return unquote(raw)
}

// unquote decodes a checked JSON string; bytes that are no UTF-8 become U+FFFD.
func unquote(raw []byte) []byte {
	out, _ := jsontext.AppendUnquote(nil, raw) // reports only the invalid UTF-8
	return out
}

func (s *scanner) status(e *Envelope) bool {
	raw, ok := s.span(maxDepth - 1)
	if !ok {
		return false
	}
	e.Status, e.NoStatus = 0, string(raw) == "null"
	if e.NoStatus {
		return true
	}
	n, ok := integer(raw)
	if !ok {
		s.i -= len(raw)
		return s.fail(BodyShape, errStatus)
	}
	e.Status = n
	return true
}

// integer reads a JSON number or string that holds a whole number.
func integer(raw []byte) (int, bool) {
	if raw[0] == '"' {
		raw = bytes.TrimSpace(unquote(raw))
	}
	n, err := strconv.Atoi(string(raw))
	return n, err == nil
}

// message keeps the text of a string or another scalar, and nothing of an
// object or array.
func (s *scanner) message(e *Envelope) bool {
	raw, ok := s.span(maxDepth - 1)
	if !ok {
		return false
	}
	switch raw[0] {
	case '"':
		e.Message = strings.ToValidUTF8(string(unquote(raw)), "\uFFFD")
	case '{', '[', 'n':
		e.Message = ""
	default:
		e.Message = string(raw)
	}
	return true
}

func (s *scanner) data(e *Envelope, list *listing) bool {
	s.peek()
	start := s.i
	var ok bool
	if list == nil {
		ok = s.value(maxDepth - 1)
	} else {
		ok = s.list(maxDepth-1, list)
	}
	e.Data = s.b[start:s.i:s.i]
	return ok
}
