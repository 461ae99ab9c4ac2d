package network

import (
	"strconv"
	"strings"
	"sync"
)

// rebinder numbers the parameters of statements for PostgreSQL: "?" becomes
// $1, $2, ... It remembers every text, of which there are few, because no text
// holds a value. The zero value is ready; it may be used from any number of
// goroutines.
type rebinder struct{ known sync.Map }

func (r *rebinder) rebind(query string) string {
	if text, found := r.known.Load(query); found {
		return text.(string)
	}
	text := number(query)
	r.known.Store(query, text)
	return text
}

// number leaves a "?" alone that stands in a text between single quotes.
func number(query string) string {
	var b strings.Builder
	n, quoted := 0, false
	for i := range len(query) {
		switch c := query[i]; {
		case c == '?' && !quoted:
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
		default:
			quoted = quoted != (c == '\'')
			b.WriteByte(c)
		}
	}
	return b.String()
}
