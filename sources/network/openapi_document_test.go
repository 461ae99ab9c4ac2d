package network_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
	"github.com/orderwire/orderwire/sources/openapi"
)

// sided is an operation of one side.
type sided struct {
	service string
	side    network.Side
}

// The document has every operation of the service for each side, tells ours
// from those of the specification, and has no other one.
func TestDocumentHasEveryOperation(t *testing.T) {
	told := map[sided]any{}
	for path, item := range loadContract(t).doc.Paths.Map() {
		service, ok := strings.CutPrefix(path, "/{key}/"+network.DefaultServicePrefix+".")
		if !ok {
			continue
		}
		sides, _ := item.Post.Extensions["x-sides"].(map[string]any)
		for side, whose := range sides {
			told[sided{service, network.Side(side)}] = whose
		}
	}
	for _, o := range network.Operations() {
		want := "specification"
		if o.Ours {
			want = "ours"
		}
		key := sided{o.Service, o.Side}
		if told[key] != want {
			t.Errorf("the document says %v of %v; want %s", told[key], key, want)
		}
		delete(told, key)
	}
	for key := range told {
		t.Errorf("%v is in the document only", key)
	}
}

var signatureExample = regexp.MustCompile(`(?m)^    (secret|path|parameters|signed|Sign|form|sign) +(\S+)$`)

// The document's example of a signature is right.
func TestDocumentSignsRightly(t *testing.T) {
	c := loadContract(t)
	example := map[string]string{}
	for _, m := range signatureExample.FindAllStringSubmatch(c.doc.Info.Description, -1) {
		example[m[1]] = m[2]
	}
	secret, path, parameters := example["secret"], example["path"], example["parameters"]
	sign, err := openapi.Sign(secret, path, []byte(parameters), openapi.PlainAmpersand)
	if err != nil || sign != example["Sign"] {
		t.Errorf("Sign is %s (%v); the document says %s", sign, err, example["Sign"])
	}
	if signed := secret + path + parameters + secret; signed != example["signed"] {
		t.Errorf("signed is %s; the document says %s", signed, example["signed"])
	}
	form := strings.TrimSuffix(strings.TrimPrefix(example["form"], secret+path), secret)
	if sign, err := openapi.Sign(secret, path, []byte(form), openapi.PlainAmpersand); err != nil || sign != example["sign"] {
		t.Errorf("sign of the form is %s (%v); the document says %s", sign, err, example["sign"])
	}
	request := fmt.Sprintf(`%s,"Sign":%q}`, strings.TrimSuffix(parameters, "}"), sign)
	if !strings.Contains(c.doc.Info.Description, "`"+request+"`") {
		t.Errorf("the document does not show the request %s", request)
	}
}

// What fails before it is a call follows the document too.
func TestHTTPFailuresFollowTheDocument(t *testing.T) {
	c, f := loadContract(t), start(t, func(config *network.Config) { config.MaxConcurrent = 1 })
	call := f.request(appKey, ordersQuery, "application/json", nil)
	tests := []struct {
		name string
		send func() answer
		code int
	}{
		{"no such path", func() answer { return f.do(http.MethodPost, "/nothing", nil, "") }, http.StatusNotFound},
		{"method", func() answer { return f.do(http.MethodPut, "/"+appKey+"/"+ordersQuery, nil, "") }, http.StatusMethodNotAllowed},
		{"body too large", func() answer {
			return f.do(http.MethodPost, "/"+appKey+"/"+ordersQuery, strings.NewReader(strings.Repeat(" ", 2<<20)), "application/json")
		}, http.StatusRequestEntityTooLarge},
		{"overload", func() answer { a, _ := f.overloaded(); return a }, http.StatusServiceUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.send()
			if a.HTTP != tt.code {
				t.Fatalf("HTTP %d; want %d", a.HTTP, tt.code)
			}
			if err := c.response(t, call, a); err != nil {
				t.Errorf("%v\n%.300s", err, a.body)
			}
		})
	}
}

// An answer that differs from the document is found out.
func TestDocumentRefusesSpoiledAnswers(t *testing.T) {
	c, f := loadContract(t), start(t, nil)
	f.simulator(network.SimulatorConfig{Seed: 1}, 20)
	some := f.query(`SELECT program_id, order_sn FROM orders ORDER BY id LIMIT 1`)[0]
	body := f.signed(appKey, appSecret, ordersDetail, params{"ProgramId": some[0], "OrderSn": some[1]})
	req := f.request(appKey, ordersDetail, "application/json", body)
	a := f.send(req)
	if err := c.response(t, req, a); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string][2]string{
		"no Status":           {`"Status":0,`, ``},
		"another success":     {`"Status":0,`, `"Status":200,`},
		"number for an id":    {`"Data":{"Id":"`, `"Data":{"Id":7,"Old":"`},
		"new field":           {`"Data":{`, `"Data":{"New":"1",`},
		"new field of a line": {`"Details":[{`, `"Details":[{"New":"1",`},
		"amount":              {`"OrdersPrice":"`, `"OrdersPrice":"1,`},
		"time":                {`"OrderTime":"`, `"OrderTime":"T`},
		"field missing":       {`"SiterCommission":`, `"SubId":`},
	} {
		spoiled := a
		spoiled.body = []byte(strings.Replace(string(a.body), spoil[0], spoil[1], 1))
		if string(spoiled.body) == string(a.body) {
			t.Errorf("%s: the answer has no %s", name, spoil[0])
		}
		if c.response(t, req, spoiled) == nil {
			t.Errorf("an answer with a spoiled %s is taken", name)
		}
	}
}
