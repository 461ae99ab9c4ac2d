package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/orderwire/orderwire/sources/openapi"
)

// The references read bodies slowly, with other libraries than the package.

// texts are parameters that are all strings, by name.
type texts map[string]string

// respelled gives the names of a form; ok is false when one is there twice.
func respelled(values map[string][]string) (all texts, ok bool) {
	all = texts{}
	for name, list := range values {
		switch name {
		case "sign":
			name = "Sign"
		case "app_key":
			name = "AppKey"
		case "timestamp":
			name = "Timestamp"
		case "service":
			name = "Service"
		}
		if _, again := all[name]; again || len(list) > 1 || !utf8.ValidString(name) || !utf8.ValidString(list[0]) {
			return nil, false
		}
		all[name] = list[0]
	}
	return all, len(all) <= openapi.MaxMembers
}

// referenceForm reads a form. It does not know ";" as a separator.
func referenceForm(body []byte) (texts, bool) {
	values, err := url.ParseQuery(strings.ReplaceAll(string(body), ";", "%3B"))
	if err != nil {
		return nil, false
	}
	return respelled(values)
}

// referenceMultipart reads a multipart form, whose parts without a name it
// skips.
func referenceMultipart(body []byte) (texts, bool) {
	form, err := multipart.NewReader(bytes.NewReader(body), fuzzBoundary).ReadForm(1 << 20)
	if err != nil || len(form.File) > 0 {
		return nil, false
	}
	return respelled(form.Value)
}

// half finds what may be half of a surrogate pair.
var half = regexp.MustCompile(`\\u[dD][89a-fA-F]`)

// referenceJSON reads the members of a JSON object; sure is false when it does
// not know.
func referenceJSON(body []byte) (members map[string]json.RawMessage, ok, sure bool) {
	if half.Match(body) {
		return nil, false, false
	}
	if !utf8.Valid(body) || !json.Valid(body) || !strings.HasPrefix(strings.TrimLeft(string(body), " \t\r\n"), "{") {
		return nil, false, true
	}
	if !distinct(json.NewDecoder(bytes.NewReader(body))) || depth(body) > 65 {
		return nil, false, true
	}
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, false, true
	}
	return members, len(members) <= openapi.MaxMembers, true
}

// distinct reports whether no object in a valid value has a name twice.
func distinct(dec *json.Decoder) bool {
	var names []map[string]bool // nil for an array
	name := false               // the next string is one
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return true
		}
		if err != nil {
			return false
		}
		switch tok {
		case json.Delim('{'):
			names, name = append(names, map[string]bool{}), true
			continue
		case json.Delim('['):
			names, name = append(names, nil), false
			continue
		case json.Delim('}'), json.Delim(']'):
			names = names[:len(names)-1]
			name = len(names) > 0 && names[len(names)-1] != nil
			continue
		}
		if text, ok := tok.(string); ok && name {
			if names[len(names)-1][text] {
				return false
			}
			names[len(names)-1][text] = true
			name = false
			continue
		}
		name = len(names) > 0 && names[len(names)-1] != nil
	}
}

// depth is how deep a valid value is nested.
func depth(body []byte) int {
	dec := json.NewDecoder(bytes.NewReader(body))
	now, most := 0, 0
	for {
		tok, err := dec.Token()
		if err != nil {
			return most
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			now++
			most = max(most, now)
		case json.Delim('}'), json.Delim(']'):
			now--
		}
	}
}
