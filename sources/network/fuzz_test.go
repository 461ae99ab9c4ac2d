package network_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/openapi/openapitest"
)

// FuzzCall signs whatever can be signed and posts it, as JSON or, when it is
// text, as a form: the service answers with a documented Status, and never with
// a failure of its own.
func FuzzCall(f *testing.F) {
	fix := open(f, nil)
	fix.simulator(network.SimulatorConfig{Seed: 1}, 20)
	for _, v := range openapitest.Vectors(f) {
		f.Add([]byte(v.Body), uint8(len(v.Name)))
	}
	for i, body := range []string{
		`{"Stime":1794412800,"Etime":1794412800,"Page":"2","PageSize":3,"Timestamp":1794412800}`,
		`{"ProgramId":1042,"OrderSn":"SN0000000001","Timestamp":"1794412800"}`,
		`{"Url":"https://e.com","WebsiteId":1026,"Timestamp":1794412800,"AppKey":"2312521"}`,
		`{"Stime":"9999999999999999","Etime":-1,"OrderField":"ChargeTime","Status":"-1","Timestamp":1794412800}`,
		`{"Stime":"1794412800","Etime":"1794412800","timestamp":"1794412800","app_key":"2312521"}`,
		`{"ProgramId":"1042","OrderSn":"a&b","Timestamp":"1794412800","service":"svc.open-service.orders.detail.get"}`,
		`{}`, `[]`, `{"Timestamp":null,"a":{"b":[1,2,{"c":"\u0000"}]}}`,
	} {
		f.Add([]byte(body), uint8(i))
		f.Add([]byte(body), uint8(i+3))
		f.Add([]byte(body), uint8(i+6))
	}
	known := map[network.Status]bool{}
	for _, s := range network.Statuses() {
		known[s.Status] = s.HTTP == http.StatusOK && s.Status < network.StatusInternal
	}
	services := []string{ordersQuery, ordersDetail, linksPost}
	f.Fuzz(func(t *testing.T, body []byte, which uint8) {
		service := services[int(which)%len(services)]
		path, contentType, all := "/"+appKey+"/"+service, "", fields{}
		if kind := which / 3 % 3; kind > 0 && json.Unmarshal(body, &all) == nil {
			all = all.signedAs(t, "sign", appKey, appSecret, service, kind == 2)
			if contentType, body = formType, []byte(all.encode()); kind == 2 {
				contentType, body = all.multipart(t)
			}
		} else if canonical, err := openapi.Canonical(body, openapi.PlainAmpersand); err == nil {
			if body, err = signBody(appKey, appSecret, service, canonical); err != nil {
				t.Fatal(err)
			}
		}
		r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		fix.svc.Handler().ServeHTTP(w, r)
		var a answer
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusOK || !known[a.Status] {
			t.Errorf("HTTP %d, Status %d: %s", w.Code, a.Status, a.Message)
		}
	})
}
