package network_test

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
)

// formType is the content type of a form that is not multipart.
const formType = "application/x-www-form-urlencoded"

// fields are those of a form.
type fields map[string]string

func (f fields) with(more fields) fields {
	all := fields{}
	maps.Copy(all, f)
	maps.Copy(all, more)
	return all
}

func (f fields) without(name string) fields {
	all := maps.Clone(f)
	delete(all, name)
	return all
}

// signedAs returns the fields with their signature under a name. It follows
// doc.go and shares nothing with the service.
func (f fields) signedAs(tb testing.TB, name, key, secret, service string, hexAmp bool) fields {
	tb.Helper()
	var canonical bytes.Buffer
	enc := json.NewEncoder(&canonical)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]string(f)); err != nil {
		tb.Fatal(err)
	}
	text := strings.TrimSuffix(canonical.String(), "\n")
	if hexAmp {
		text = strings.ReplaceAll(text, "&", `\u0026`)
	}
	sum := md5.Sum([]byte(secret + "/" + key + "/" + service + text + secret))
	return f.with(fields{name: fmt.Sprintf("%X", sum)})
}

func (f fields) encode() string {
	values := url.Values{}
	for name, value := range f {
		values.Set(name, value)
	}
	return values.Encode()
}

// multipart returns the body of a multipart form and its Content-Type.
func (f fields) multipart(tb testing.TB) (contentType string, body []byte) {
	tb.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range f {
		if err := w.WriteField(name, value); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

func (f *fixture) sendBody(service, contentType, body string) answer {
	f.tb.Helper()
	return f.do("POST", "/"+appKey+"/"+service, strings.NewReader(body), contentType)
}

// A form gets the answer that the same parameters get as JSON, whatever the
// spelling of the common parameters, the ampersand and the kind of form.
func TestForms(t *testing.T) {
	f := start(t, nil)
	f.simulator(network.SimulatorConfig{Seed: 1}, 20)
	now := f.clock.unix.Load()
	plain := f.call(ordersQuery, params{"Stime": now - 86400, "Etime": now, "SubId": "", "PageSize": "3"})
	if plain.Status != network.StatusSuccess || len(plain.Data) < 200 {
		t.Fatalf("Status %d: %s %s", plain.Status, plain.Message, plain.Data)
	}
	base := fields{"Stime": fmt.Sprint(now - 86400), "Etime": fmt.Sprint(now), "PageSize": "3"}
	time := fmt.Sprint(now)
	tests := []struct {
		name, sign string
		fields     fields
		hexAmp     bool
	}{
		{"our spelling", "Sign", fields{"Timestamp": time, "AppKey": appKey, "Service": ordersQuery}, false},
		{"their spelling", "sign", fields{"timestamp": time, "app_key": appKey, "service": ordersQuery}, false},
		{"both, mixed", "sign", fields{"Timestamp": time, "app_key": appKey, "Service": ordersQuery}, false},
		{"as little as possible", "sign", fields{"timestamp": time}, false},
		{"unknown, not ASCII", "Sign", fields{"Timestamp": time, "Lang": "中文 +%/\\\"<>😀", "": "nameless"}, false},
		{"ampersand", "Sign", fields{"Timestamp": time, "Lang": "a&b=c;d", "a&b": "&"}, false},
		{"ampersand, escaped where it is signed", "Sign", fields{"Timestamp": time, "Lang": "a&b=c;d", "a&b": "&"}, true},
		{"empty field", "Sign", fields{"Timestamp": time, "SubId": "", "Status": ""}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := base.with(tt.fields).signedAs(t, tt.sign, appKey, appSecret, ordersQuery, tt.hexAmp)
			multi, body := all.multipart(t)
			for contentType, body := range map[string]string{formType: all.encode(), formType + "; charset=UTF-8": all.encode() + "&", multi: string(body)} {
				a := f.sendBody(ordersQuery, contentType, body)
				if a.Status != network.StatusSuccess || !bytes.Equal(a.Data, plain.Data) {
					t.Errorf("%s: Status %d: %s\n%s\nwant %s", contentType, a.Status, a.Message, a.Data, plain.Data)
				}
			}
		})
	}
}

// The signature of doc.go, which `openssl md5` made of the text that stands
// there.
func TestFormSignatureOfTheDocumentation(t *testing.T) {
	f := start(t, func(c *network.Config) { c.TimestampWindow = -1 })
	f.publisher(network.Publisher{AppKey: "2312521", AppSecret: "demo", Websites: []string{website}})
	body := "app_key=2312521&timestamp=1692696195&ProgramId=1042&OrderSn=A%26B&sign=86528944432AF18F8CF621B46EA2D6FA"
	if a := f.sendBody(ordersDetail, formType, body); a.Status != network.StatusNotFound {
		t.Errorf("Status %d: %s; want it signed, and no such order", a.Status, a.Message)
	}
	if a := f.sendBody(ordersDetail, formType, strings.Replace(body, "1042", "1043", 1)); a.Status != network.StatusSignature {
		t.Errorf("another program: Status %d: %s", a.Status, a.Message)
	}
}
