package network_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
)

// Every bad request gets its documented Status, names the parameter and holds
// neither secret nor signature.
func TestBadParameters(t *testing.T) {
	f := start(t, nil)
	now := f.clock.unix.Load()
	window := func(more params) params {
		p := params{"Stime": now - 86400, "Etime": now}
		for name, value := range more {
			p[name] = value
		}
		return p
	}
	link := func(url, website any) params { return params{"Url": url, "WebsiteId": website} }
	long := strings.Repeat("x", 256)
	tests := []struct {
		name, service string
		params        params
		status        network.Status
		message       string
	}{
		{"no Stime", ordersQuery, params{"Etime": now}, network.StatusParameter, "Stime"},
		{"no Etime", ordersQuery, params{"Stime": now}, network.StatusParameter, "Etime"},
		{"Stime empty", ordersQuery, window(params{"Stime": ""}), network.StatusParameter, "Stime"},
		{"Stime is text", ordersQuery, window(params{"Stime": "yesterday"}), network.StatusParameter, "parameter Stime: want an integer of at most 16 digits (the value has 9 bytes)"},
		{"Stime is a fraction", ordersQuery, window(params{"Stime": 1.5}), network.StatusParameter, "Stime"},
		{"Stime has an exponent", ordersQuery, window(params{"Stime": "1e9"}), network.StatusParameter, "Stime"},
		{"Stime is negative", ordersQuery, window(params{"Stime": -1}), network.StatusParameter, "Stime"},
		{"Stime has 17 digits", ordersQuery, window(params{"Stime": "12345678901234567"}), network.StatusParameter, "has 17 bytes"},
		{"Stime is null", ordersQuery, window(params{"Stime": nil}), network.StatusParameter, "Stime"},
		{"Stime is a boolean", ordersQuery, window(params{"Stime": true}), network.StatusParameter, "Stime"},
		{"Stime is a list", ordersQuery, window(params{"Stime": []int{1}}), network.StatusParameter, "Stime"},
		{"Stime is an object", ordersQuery, window(params{"Stime": params{"a": 1}}), network.StatusParameter, "Stime"},
		{"Etime before Stime", ordersQuery, window(params{"Etime": now - 86401}), network.StatusParameter, "Etime: want not before Stime"},
		{"a second more than a day", ordersQuery, window(params{"Etime": now + 1}), network.StatusSpan, "Etime: want at most 86400 s after Stime"},
		{"a century", ordersQuery, window(params{"Stime": 0}), network.StatusSpan, "Etime"},
		{"the largest span", ordersQuery, window(params{"Stime": 0, "Etime": "9999999999999999"}), network.StatusSpan, "Etime"},
		{"Page 0", ordersQuery, window(params{"Page": 0}), network.StatusParameter, "Page: want an integer between 1"},
		{"Page negative", ordersQuery, window(params{"Page": "-1"}), network.StatusParameter, "Page"},
		{"PageSize 201", ordersQuery, window(params{"PageSize": 201}), network.StatusParameter, "PageSize: want an integer between 1 and 200"},
		{"PageSize 0", ordersQuery, window(params{"PageSize": 0}), network.StatusParameter, "PageSize"},
		{"OrderField unknown", ordersQuery, window(params{"OrderField": "OrderDateTime"}), network.StatusParameter, "OrderField"},
		{"OrderField is SQL", ordersQuery, window(params{"OrderField": "id; DROP TABLE orders"}), network.StatusParameter, "OrderField"},
		{"Status unknown", ordersQuery, window(params{"Status": 3}), network.StatusParameter, "Status: want -1, 0, 1 or 2"},
		{"Status by name", ordersQuery, window(params{"Status": "Pending"}), network.StatusParameter, "Status"},
		{"SubId too long", ordersQuery, window(params{"SubId": long}), network.StatusParameter, "parameter SubId: want at most 255 characters (the value has 256 bytes)"},
		{"SubId with U+0000", ordersQuery, window(params{"SubId": "a\x00b"}), network.StatusParameter, "SubId: want a string without NUL characters"},
		{"SubId is a list", ordersQuery, window(params{"SubId": []string{"a"}}), network.StatusParameter, "SubId"},
		{"no OrderSn", ordersDetail, params{"ProgramId": "1042"}, network.StatusParameter, "OrderSn: want a value"},
		{"no ProgramId", ordersDetail, params{"OrderSn": "SN1"}, network.StatusParameter, "ProgramId"},
		{"OrderSn too long", ordersDetail, params{"ProgramId": "1042", "OrderSn": strings.Repeat("单", 256)}, network.StatusParameter, "has 768 bytes"},
		{"no such order", ordersDetail, params{"ProgramId": "1042", "OrderSn": "SN1"}, network.StatusNotFound, "no such order"},
		{"SQL in OrderSn", ordersDetail, params{"ProgramId": "1042", "OrderSn": "' OR 1=1 --"}, network.StatusNotFound, "no such order"},
		{"no Url", linksPost, params{"WebsiteId": website}, network.StatusParameter, "Url"},
		{"Url empty", linksPost, link("", website), network.StatusParameter, "Url"},
		{"Url relative", linksPost, link("/goods/1", website), network.StatusParameter, "Url: want an absolute http or https address"},
		{"Url is a script", linksPost, link("javascript:alert(1)", website), network.StatusParameter, "Url"},
		{"Url without a host", linksPost, link("http://", website), network.StatusParameter, "Url"},
		{"Url with a password", linksPost, link("https://a:b@e.com", website), network.StatusParameter, "Url"},
		{"Url too long", linksPost, link("https://e.com/"+long, website), network.StatusParameter, "Url"},
		{"no WebsiteId", linksPost, params{"Url": "https://e.com"}, network.StatusParameter, "WebsiteId"},
		{"WebsiteId of nobody", linksPost, link("https://e.com", "9"), network.StatusNotFound, "WebsiteId"},
		{"AppKey of another", ordersQuery, window(params{"AppKey": "1"}), network.StatusParameter, "AppKey: want the same as in the path"},
		{"Service of another", ordersQuery, window(params{"Service": linksPost}), network.StatusParameter, "Service"},
		{"Timestamp missing", ordersQuery, window(params{"Timestamp": ""}), network.StatusParameter, "Timestamp"},
		{"Timestamp in milliseconds", ordersQuery, window(params{"Timestamp": now * 1000}), network.StatusTimestamp, "within 300 s"},
		{"Timestamp too old", ordersQuery, window(params{"Timestamp": now - 301}), network.StatusTimestamp, "Timestamp"},
		{"Timestamp too new", ordersQuery, window(params{"Timestamp": now + 301}), network.StatusTimestamp, "Timestamp"},
		{"Timestamp is ISO 8601", ordersQuery, window(params{"Timestamp": "2026-11-12T08:00:00Z"}), network.StatusParameter, "Timestamp"},
		{"service unknown", "svc.open-service.orders.delete", params{}, network.StatusNoService, "no such service"},
		{"service with another prefix", "live.open-service.orders.query.get", window(nil), network.StatusNoService, "no such service"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := f.call(tt.service, tt.params)
			if a.HTTP != http.StatusOK || a.Status != tt.status || !strings.Contains(a.Message, tt.message) {
				t.Errorf("HTTP %d, Status %d: %q; want Status %d: …%s…", a.HTTP, a.Status, a.Message, tt.status, tt.message)
			}
			if len(a.Data) > 0 || strings.Contains(a.Message, appSecret) {
				t.Errorf("a refusal holds Data or the secret: %q %s", a.Message, a.Data)
			}
		})
	}
	if a := f.call(ordersQuery, window(nil)); a.Status != network.StatusSuccess {
		t.Errorf("after all of them: Status %d: %s", a.Status, a.Message)
	}
}

func TestAcceptedForms(t *testing.T) {
	f := start(t, nil)
	now := f.clock.unix.Load()
	tests := map[string]params{
		"numbers":           {"Stime": now - 1, "Etime": now, "Page": 1, "PageSize": 200, "Status": -1, "WebsiteId": 1026},
		"strings":           {"Stime": fmt.Sprint(now - 1), "Etime": fmt.Sprint(now), "Page": "1", "PageSize": "200", "Timestamp": fmt.Sprint(now)},
		"empty filters":     {"Stime": now, "Etime": now, "SubId": "", "Status": "", "OrderField": "", "Page": ""},
		"key and service":   {"Stime": now, "Etime": now, "AppKey": appKey, "Service": ordersQuery},
		"unknown parameter": {"Stime": now, "Etime": now, "Lang": "zh & en", "Nested": params{"b": []any{1, nil, "x"}}},
		"exactly a day":     {"Stime": now - 86400, "Etime": now},
		"edge of the clock": {"Stime": now, "Etime": now, "Timestamp": now - 300},
		"255 characters":    {"Stime": now, "Etime": now, "SubId": strings.Repeat("单", 255)},
	}
	for name, p := range tests {
		t.Run(name, func(t *testing.T) {
			if a := f.call(ordersQuery, p); a.Status != network.StatusSuccess || a.Message != "success" {
				t.Errorf("Status %d: %s", a.Status, a.Message)
			}
		})
	}
}

func TestBadBodies(t *testing.T) {
	f := start(t, nil)
	if err := f.svc.AddAdvertiser(t.Context(), network.Advertiser{AdsKey: "ads-1"}); err != nil {
		t.Fatal(err)
	}
	now := f.clock.unix.Load()
	good := string(f.signed(appKey, appSecret, ordersQuery, params{"Stime": now, "Etime": now}))
	path := "/" + appKey + "/" + ordersQuery
	deep := fmt.Sprintf(`{"Timestamp":%d,"A":%s%s,"Sign":"x"}`, now, strings.Repeat("[", 100), strings.Repeat("]", 100))
	tests := []struct {
		name, path, body string
		status           network.Status
	}{
		{"empty", path, "", network.StatusBody},
		{"text", path, "Timestamp=1", network.StatusBody},
		{"a list", path, "[1]", network.StatusBody},
		{"a string", path, `"x"`, network.StatusBody},
		{"null", path, "null", network.StatusBody},
		{"cut", path, good[:len(good)-1], network.StatusBody},
		{"two objects", path, good + good, network.StatusBody},
		{"duplicate name", path, strings.Replace(good, `{`, `{"Stime":1,`, 1), network.StatusBody},
		{"invalid UTF-8", path, strings.Replace(good, `{`, "{\"SubId\":\"\xff\",", 1), network.StatusBody},
		{"half a surrogate pair", path, strings.Replace(good, `{`, `{"SubId":"\ud800",`, 1), network.StatusBody},
		{"nested too deep", path, deep, network.StatusBody},
		{"no Sign", path, `{"Timestamp":1}`, network.StatusParameter},
		{"Sign empty", path, `{"Timestamp":1,"Sign":""}`, network.StatusParameter},
		{"Sign is a list", path, `{"Timestamp":1,"Sign":[]}`, network.StatusParameter},
		{"Sign is a number", path, `{"Timestamp":1,"Sign":1}`, network.StatusSignature},
		{"Sign in lower case", path, lowerSign(good), network.StatusSignature},
		{"Sign too short", path, strings.Replace(good, `"Sign":"`, `"Sign":"0`, 1), network.StatusSignature},
		{"a parameter changed", path, strings.Replace(good, `"Stime":1`, `"Stime":2`, 1), network.StatusSignature},
		{"a parameter added", path, strings.Replace(good, `{`, `{"SubId":"x",`, 1), network.StatusSignature},
		{"signed for another service", "/" + appKey + "/" + ordersDetail, good, network.StatusSignature},
		{"unknown key", "/2312522/" + ordersQuery, good, network.StatusUnknownKey},
		{"SQL as key", "/'%20OR%201=1/" + ordersQuery, good, network.StatusUnknownKey},
		{"U+0000 as key", "/a%00b/" + ordersQuery, good, network.StatusUnknownKey},
		{"no UTF-8 as key", "/a%FFb/" + ordersQuery, good, network.StatusUnknownKey},
		{"advertiser", "/ads-1/svc.order.report.post", "OrderId=TestOrderId", network.StatusNoService},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := f.post(tt.path, []byte(tt.body))
			if a.HTTP != http.StatusOK || a.Status != tt.status {
				t.Errorf("HTTP %d, Status %d: %q; want Status %d", a.HTTP, a.Status, a.Message, tt.status)
			}
			if strings.Contains(a.Message, appSecret) || len(a.Message) > 200 {
				t.Errorf("message %q", a.Message)
			}
		})
	}
	if a := f.post(path, []byte(good)); a.Status != network.StatusSuccess {
		t.Errorf("the good body: Status %d: %s", a.Status, a.Message)
	}
}

func lowerSign(body string) string {
	i := strings.Index(body, `"Sign":"`) + len(`"Sign":"`)
	return body[:i] + strings.ToLower(body[i:])
}

func TestHTTPFails(t *testing.T) {
	f := start(t, nil)
	path := "/" + appKey + "/" + ordersQuery
	tests := []struct {
		name, method, path string
		http               int
		status             network.Status
	}{
		{"root", "POST", "/", 404, network.StatusNoRoute},
		{"one segment", "POST", "/" + appKey, 404, network.StatusNoRoute},
		{"no service", "POST", "/" + appKey + "/", 404, network.StatusNoRoute},
		{"no key", "POST", "//" + ordersQuery, 404, network.StatusNoRoute},
		{"three segments", "POST", path + "/x", 404, network.StatusNoRoute},
		{"slash at the end", "POST", path + "/", 404, network.StatusNoRoute},
		{"up and down", "POST", "/x/../" + appKey + "/" + ordersQuery, 404, network.StatusNoRoute},
		{"slash in the key", "POST", "/a%2Fb/" + ordersQuery, 200, network.StatusUnknownKey},
		{"GET", "GET", path, 405, network.StatusMethod},
		{"PUT", "PUT", path, 405, network.StatusMethod},
		{"DELETE", "DELETE", "/c/100001", 405, network.StatusMethod},
		{"link unknown", "GET", "/c/100001", 404, network.StatusNoRoute},
		{"link is no number", "GET", "/c/abc", 404, network.StatusNoRoute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := f.do(tt.method, tt.path, nil, "")
			if a.HTTP != tt.http || a.Status != tt.status {
				t.Errorf("HTTP %d, Status %d; want %d, %d", a.HTTP, a.Status, tt.http, tt.status)
			}
		})
	}
	t.Run("body too large", func(t *testing.T) {
		a := f.post(path, bytes.Repeat([]byte(" "), 1<<20+1))
		if a.HTTP != 413 || a.Status != network.StatusTooLarge {
			t.Errorf("HTTP %d, Status %d", a.HTTP, a.Status)
		}
	})
	t.Run("content types", func(t *testing.T) {
		now := f.clock.unix.Load()
		body := f.signed(appKey, appSecret, ordersQuery, params{"Stime": now, "Etime": now})
		for contentType, want := range map[string]network.Status{
			"": 0, "application/json": 0, "Application/JSON; charset=utf-8": 0, "application/json;": 0,
			"text/plain": network.StatusBody, "application/x-www-form-urlencoded": network.StatusParameter, ";": network.StatusBody,
		} {
			if a := f.do("POST", path, bytes.NewReader(body), contentType); a.Status != want {
				t.Errorf("%q: Status %d: %s", contentType, a.Status, a.Message)
			}
		}
	})
	t.Run("compressed", func(t *testing.T) {
		req, err := http.NewRequest("POST", f.server.URL+path, strings.NewReader("\x1f\x8b"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Encoding", "gzip")
		if a := f.send(req); a.Status != network.StatusBody {
			t.Errorf("Status %d", a.Status)
		}
	})
}
