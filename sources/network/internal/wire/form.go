package wire

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/sources/openapi"
)

// field is one field of a form as it was sent.
type field struct{ name, value string }

// spellings are the names that the form variant of the signature has for the
// common parameters (specification 5.1.4).
var spellings = map[string]string{
	"sign": openapi.SignField, "app_key": "AppKey", "timestamp": "Timestamp", "service": "Service",
}

// splitForm takes the body of a form apart. Nothing stands between two
// ampersands in a row.
func splitForm(body string) ([]field, error) {
	var fields []field
	for body != "" {
		var one string
		if one, body, _ = strings.Cut(body, "&"); one == "" {
			continue
		}
		if len(fields) == openapi.MaxMembers {
			return nil, errTooMany()
		}
		name, value, _ := strings.Cut(one, "=")
		var f field
		var err error
		if f.name, err = url.QueryUnescape(name); err != nil {
			return nil, &Error{"body: a broken percent escape in the name of a field"}
		}
		if f.value, err = url.QueryUnescape(value); err != nil {
			return nil, &Error{"body: a broken percent escape in a field"}
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// fromFields makes a body of the fields of a form. It is signed as the JSON
// object that holds the fields as strings, under the names in which they came.
func fromFields(fields []field) (Body, error) {
	b := Body{Params: make(Params, 0, len(fields)), signed: make(openapi.Members, 0, len(fields))}
	for _, f := range fields {
		if !utf8.ValidString(f.name) || !utf8.ValidString(f.value) {
			return Body{}, &Error{"body: a field that is not UTF-8"}
		}
		name := cmp.Or(spellings[f.name], f.name)
		b.Params = append(b.Params, Param{Name: name, Kind: '"', Text: f.value, Size: len(f.value)})
		if name == openapi.SignField {
			continue
		}
		value, err := jsontext.AppendQuote(nil, f.value)
		if err != nil {
			return Body{}, &Error{"body: a field that is not UTF-8"}
		}
		b.signed = append(b.signed, openapi.Member{Name: f.name, Value: value})
	}
	b.signed.Sort()
	slices.SortFunc(b.Params, func(a, b Param) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(b.Params); i++ {
		if b.Params[i].Name == b.Params[i-1].Name {
			return Body{}, &Error{"body: a field that is there twice"}
		}
	}
	return b, nil
}

func errTooMany() error {
	return &Error{"body: more than " + strconv.Itoa(openapi.MaxMembers) + " fields"}
}
