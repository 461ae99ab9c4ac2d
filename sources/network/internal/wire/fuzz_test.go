package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/openapi/openapitest"
)

const fuzzBoundary = "xyz"

// contentTypes are those of the fuzzed bodies.
var contentTypes = []string{mediaJSON, mediaForm, mediaMultipart + "; boundary=" + fuzzBoundary}

func addSeeds(f *testing.F, add func(kind uint8, body []byte)) {
	f.Helper()
	for _, v := range openapitest.Vectors(f) {
		add(0, []byte(v.Body))
	}
	for _, body := range []string{
		`{}`, `[]`, `{"a":1,"a":2}`, `{"a":{"b":[1,2,{"c":"\u0000"}]}}`, `{"\u0061":"\ud83d\ude00 \ud800"}`, `{"a":1e5,"b":-0,"c":1.50}`, "\ufeff{}", `{"a":true,"b":null} x`,
	} {
		add(0, []byte(body))
	}
	for _, body := range []string{
		"a=1&b=2", "sign=x&app_key=1&timestamp=2&service=s", "sign=a&Sign=b", "a=%26%3d+%2B&%61=1", "a=1&a=2", "a=%zz", "a=%ff", "&&a&=&", "a;b=1;c", "a=中文&b=%E4%B8%AD",
	} {
		add(1, []byte(body))
	}
	part := func(header, value string) string {
		return "--xyz\r\nContent-Disposition: form-data; " + header + "\r\n\r\n" + value + "\r\n"
	}
	for _, body := range []string{
		"--xyz--\r\n", part(`name="a"`, "1") + "--xyz--\r\n", part(`name="a"`, "1") + part(`name="a"`, "2") + "--xyz--", part(`name="sign"`, "x") + part(`name="中"`, "中 & <") + "--xyz--\r\n",
		part(`name="f"; filename="a"`, "1") + "--xyz--\r\n", part(`name="a"`, "1"), part("name=a\r\nContent-Type: text/plain; charset=utf-8", "1") + "--xyz--\r\n",
		part("name=a\r\nContent-Transfer-Encoding: base64", "MQ==") + "--xyz--\r\n", "before\r\n" + part(`name="a"`, "\r\n--xy") + "--xyz--\r\nbehind",
	} {
		add(2, []byte(body))
	}
}

// FuzzParse compares what is read of a body with what other libraries read of
// it, and writes what was read in all three types, each of which gives the same
// parameters again.
func FuzzParse(f *testing.F) {
	addSeeds(f, func(kind uint8, body []byte) { f.Add(kind, body) })
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		kind %= 3
		b, err := Parse(contentTypes[kind], body)
		var wrong *Error
		if err != nil && !errors.As(err, &wrong) && !errors.Is(err, openapi.ErrBody) {
			t.Fatalf("an error of another type: %v", err)
		}
		if kind == 0 {
			compareJSON(t, body, b.Params, err)
		} else {
			compareForm(t, kind, body, b.Params, err)
		}
		if err == nil {
			rewrite(t, b.Params)
		}
	})
}

func compareJSON(t *testing.T, body []byte, got Params, err error) {
	want, ok, sure := referenceJSON(body)
	if !sure {
		return
	}
	if ok != (err == nil) || ok && len(got) != len(want) {
		t.Fatalf("%d parameters, %v; want %d, %v", len(got), err, len(want), ok)
	}
	for _, p := range got {
		value, text := want[p.Name], ""
		switch {
		case p.Kind == '"':
			if err := json.Unmarshal(value, &text); err != nil || text != p.Text || p.Size != len(text) {
				t.Fatalf("%q is %q, want %s", p.Name, p.Text, value)
			}
		case p.Kind == '0' && p.Text != string(value), (p.Kind == '[' || p.Kind == '{') && !bytes.Equal(p.Raw, value):
			t.Fatalf("%q is %q %s, want %s", p.Name, p.Text, p.Raw, value)
		}
	}
}

func compareForm(t *testing.T, kind uint8, body []byte, got Params, err error) {
	var want texts
	var ok bool
	if kind == 1 {
		if want, ok = referenceForm(body); ok != (err == nil) {
			t.Fatalf("%v; want it taken: %v", err, ok)
		}
	} else if want, ok = referenceMultipart(body); err == nil && !ok {
		t.Fatalf("taken, though the library refuses it")
	}
	if err != nil {
		return
	}
	for _, p := range got {
		text, given := want[p.Name]
		if p.Name == "" && kind == 2 {
			continue // the library leaves it out
		}
		if !given || text != p.Text || p.Kind != '"' {
			t.Fatalf("%q is %q, want %q", p.Name, p.Text, text)
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Fatalf("%d more parameters", len(want))
	}
}

// rewrite holds that the same strings are the same parameters in every type.
func rewrite(t *testing.T, params Params) {
	form, object := url.Values{}, []byte{'{'}
	var parts bytes.Buffer
	w := multipart.NewWriter(&parts)
	multi := true // a name can hold what the header of a part cannot
	for i, p := range params {
		if p.Kind != '"' || spellings[p.Name] != "" {
			return
		}
		form.Set(p.Name, p.Text)
		if i > 0 {
			object = append(object, ',')
		}
		object, _ = jsontext.AppendQuote(object, p.Name)
		object, _ = jsontext.AppendQuote(append(object, ':'), p.Text)
		multi = multi && !strings.ContainsFunc(p.Name, func(r rune) bool { return r < ' ' || r == 0x7f })
		if err := w.WriteField(p.Name, p.Text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	same := func(a, b Param) bool {
		return a.Name == b.Name && a.Kind == b.Kind && a.Text == b.Text && a.Size == b.Size
	}
	for contentType, body := range map[string][]byte{mediaForm: []byte(form.Encode()), mediaJSON: append(object, '}'), w.FormDataContentType(): parts.Bytes()} {
		if !multi && strings.HasPrefix(contentType, mediaMultipart) {
			continue
		}
		again, err := Parse(contentType, body)
		if err != nil || !slices.EqualFunc(again.Params, params, same) {
			t.Fatalf("%s: %v, %v; want %v", contentType, err, again.Params, params)
		}
	}
}
