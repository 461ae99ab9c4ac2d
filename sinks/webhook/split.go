package webhook

import "bytes"

// eventMembers is how many members an event document has, when it has no others:
// specversion, id, source, type, subject, time, datacontenttype and data.
const eventMembers = 8

// split sets the parts of an event document that [schema.ParseEvent] has read, without
// copies. It returns false for one that is written in an unusual way: with a name
// of a member that holds an escape, or with something behind the document. When the
// document has no other members than an event's, its data is not looked through if
// it comes last.
func (s *storedEvent) split(raw []byte, others bool) bool {
	i := bytes.IndexByte(raw, '{') + 1
	for n := 1; i > 0; n++ {
		i = skipSpace(raw, i)
		if i >= len(raw) || raw[i] != '"' {
			return i == len(raw)-1 && raw[i] == '}'
		}
		end := skipString(raw, i)
		if end < 0 || bytes.IndexByte(raw[i:end], '\\') >= 0 {
			return false
		}
		name := raw[i+1 : end-1]
		from := skipSpace(raw, skipSpace(raw, end)+1) // over the colon
		if n == eventMembers && !others && string(name) == "data" {
			s.Data = lastValue(raw, from)
			return s.Data != nil
		}
		to := skipValue(raw, from)
		if to < 0 {
			return false
		}
		switch string(name) {
		case "id":
			s.ID = raw[from:to]
		case "type":
			s.Type = raw[from:to]
		case "time":
			s.Time = raw[from:to]
		case "data":
			s.Data = raw[from:to]
		}
		if i = skipSpace(raw, to); i < len(raw) && raw[i] == ',' {
			i++
		}
	}
	return false
}

// lastValue returns the object that begins at from, behind which only the bracket
// that closes the document follows; nil when it is something else.
func lastValue(raw []byte, from int) []byte {
	value, closed := bytes.CutSuffix(bytes.TrimSpace(raw[from:]), []byte("}"))
	if value = bytes.TrimSpace(value); !closed || !bytes.HasPrefix(value, []byte("{")) || !bytes.HasSuffix(value, []byte("}")) {
		return nil
	}
	return value
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString returns where the string that begins at i ends, -1 if it does not.
func skipString(b []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns where the value that begins at i ends, -1 if it does not.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 { // behind a number or a literal
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return -1
}
