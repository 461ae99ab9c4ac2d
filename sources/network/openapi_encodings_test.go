package network_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/orderwire/orderwire/sources/openapi"
)

// encoding is a way to send the parameters of a call.
type encoding struct {
	name string
	// publisher makes a signed call of the first publisher.
	publisher func(f *fixture, service string, p params) *http.Request
	// brand makes a call with an ADS_KEY.
	brand func(f *fixture, key, service string, p params) *http.Request
}

var encodings = []encoding{
	{"json",
		func(f *fixture, service string, p params) *http.Request {
			return f.request(appKey, service, "application/json", f.signed(appKey, appSecret, service, p))
		},
		func(f *fixture, key, service string, p params) *http.Request {
			body, err := json.Marshal(p)
			if err != nil {
				f.tb.Fatal(err)
			}
			return f.request(key, service, "application/json", body)
		}},
	{"form",
		func(f *fixture, service string, p params) *http.Request {
			return f.urlencoded(appKey, service, f.signedFields(service, p))
		},
		func(f *fixture, key, service string, p params) *http.Request {
			return f.urlencoded(key, service, f.fields(p))
		}},
	{"multipart",
		func(f *fixture, service string, p params) *http.Request {
			return f.multipart(appKey, service, f.signedFields(service, p))
		},
		func(f *fixture, key, service string, p params) *http.Request {
			return f.multipart(key, service, f.fields(p))
		}},
}

// fields are parameters as the text that a form holds: an array is JSON.
func (f *fixture) fields(p params) map[string]string {
	f.tb.Helper()
	all := make(map[string]string, len(p))
	for name, value := range p {
		text := fmt.Sprint(value)
		if array, ok := value.([]any); ok {
			raw, err := json.Marshal(array)
			if err != nil {
				f.tb.Fatal(err)
			}
			text = string(raw)
		}
		all[name] = text
	}
	return all
}

// signedFields are fields with a signature: that of the JSON object which holds
// them as strings.
func (f *fixture) signedFields(service string, p params) map[string]string {
	f.tb.Helper()
	all := f.fields(p)
	all["app_key"], all["service"], all["timestamp"] = appKey, service, fmt.Sprint(f.clock.unix.Load())
	object, err := json.Marshal(all)
	if err != nil {
		f.tb.Fatal(err)
	}
	if all["sign"], err = openapi.Sign(appSecret, "/"+appKey+"/"+service, object, openapi.PlainAmpersand); err != nil {
		f.tb.Fatal(err)
	}
	return all
}

func (f *fixture) urlencoded(key, service string, fields map[string]string) *http.Request {
	f.tb.Helper()
	values := url.Values{}
	for name, value := range fields {
		values.Set(name, value)
	}
	return f.request(key, service, "application/x-www-form-urlencoded", []byte(values.Encode()))
}

func (f *fixture) multipart(key, service string, fields map[string]string) *http.Request {
	f.tb.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		part, err := w.CreatePart(map[string][]string{"Content-Disposition": {fmt.Sprintf("form-data; name=%q", name)}})
		if err != nil {
			f.tb.Fatal(err)
		}
		_, _ = strings.NewReader(fields[name]).WriteTo(part) // into memory
	}
	if err := w.Close(); err != nil {
		f.tb.Fatal(err)
	}
	return f.request(key, service, w.FormDataContentType(), body.Bytes())
}

func (f *fixture) request(key, service, contentType string, body []byte) *http.Request {
	f.tb.Helper()
	req, err := http.NewRequest(http.MethodPost, f.server.URL+"/"+key+"/"+service, bytes.NewReader(body))
	if err != nil {
		f.tb.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	return req
}
