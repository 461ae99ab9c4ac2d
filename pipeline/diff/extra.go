package diff

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// extra compares the fields that the specification does not know, member by
// member, without regard to the order of members at any level.
func (c *comparison) extra(path string, a, b jsontext.Value) {
	if bytes.Equal(a, b) {
		return
	}
	before, after := members(a), members(b)
	names := slices.Collect(maps.Keys(before))
	for name := range after {
		if _, both := before[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		from, to := before[name], after[name]
		if !bytes.Equal(normal(from), normal(to)) {
			c.add(path+"/"+pointerToken(name), from, to)
		}
	}
}

// members takes an object apart; nil for none.
func members(object jsontext.Value) map[string]jsontext.Value {
	var m map[string]jsontext.Value
	if len(object) > 0 && json.Unmarshal(object, &m) != nil {
		return nil // ruled out: the decoder of an order only stores objects
	}
	return m
}

// normal returns the value without white space and with sorted members.
func normal(v jsontext.Value) []byte {
	n := v.Clone()
	if len(n) == 0 || n.Format(jsontext.ReorderRawObjects(true)) != nil {
		return v
	}
	return n
}

// pointerToken escapes a name for a JSON Pointer (RFC 6901, section 3).
func pointerToken(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
