package schema

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// appendQuoted appends s as a JSON string in its shortest form (RFC 8785,
// section 3.2.2.2): only quotes, backslashes and control characters are
// escaped. It returns false when s is not valid UTF-8.
func appendQuoted(dst []byte, s string) ([]byte, bool) {
	dst = append(dst, '"')
	start := len(dst)
	dst = append(dst, s...)
	end, high := plain(dst, start)
	switch {
	case end < len(dst):
		return appendEscaped(dst[:start], s)
	case high && !utf8.Valid(dst[start:]):
		return dst[:start], false
	}
	return append(dst, '"'), true
}

// appendEscaped appends s, of which something must be escaped, and the closing
// quote.
func appendEscaped(dst []byte, s string) ([]byte, bool) {
	if !utf8.ValidString(s) {
		return dst, false
	}
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		dst = appendEscape(dst, c)
		from = i + 1
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"'), true
}

func appendEscape(dst []byte, c byte) []byte {
	const short, letters, digits = "\"\\\b\f\n\r\t", `"\bfnrt`, "0123456789abcdef"
	for i := range len(short) {
		if c == short[i] {
			return append(dst, '\\', letters[i])
		}
	}
	return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}

// unquote returns what the inside of a string reads. The scanner has walked it.
func unquote(in []byte) []byte {
	out := make([]byte, 0, len(in))
	for {
		i := bytes.IndexByte(in, '\\')
		if i < 0 {
			return append(out, in...)
		}
		out = append(out, in[:i]...)
		r, ok := hex4(in[i:])
		switch {
		case !ok:
			out = append(out, unescaped(in[i+1]))
			in = in[i+2:]
		case utf16.IsSurrogate(r):
			low, _ := hex4(in[i+6:])
			out = utf8.AppendRune(out, utf16.DecodeRune(r, low))
			in = in[i+12:]
		default:
			out = utf8.AppendRune(out, r)
			in = in[i+6:]
		}
	}
}

// unescaped returns the character that a backslash and c stand for.
func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return c
	}
}
