package network_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
)

// secretValue stands in values that no answer and no log may repeat.
const secretValue = "zqxjkv"

// bad is a request that is refused.
type bad struct {
	name        string
	method      string // POST when empty
	path        string // of the order list when empty
	contentType string // JSON when empty, none when "-"
	header      http.Header
	body        string
	chunked     bool
	http        int // 200 when 0
	status      network.Status
	says        string // a part of the message
}

// send sends it.
func (b bad) send(f *fixture) answer {
	f.tb.Helper()
	var body io.Reader = strings.NewReader(b.body)
	if b.chunked {
		body = io.MultiReader(body) // whose length nobody knows
	}
	req, err := http.NewRequest(or(b.method, http.MethodPost), f.server.URL+or(b.path, "/"+appKey+"/"+ordersQuery), body)
	if err != nil {
		f.tb.Fatal(err)
	}
	for name, values := range b.header {
		req.Header[name] = values
	}
	if b.contentType != "-" {
		req.Header.Add("Content-Type", or(b.contentType, "application/json"))
	}
	return f.send(req)
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// Every bad request gets its documented Status and HTTP status in an envelope
// that repeats nothing of it, and after each one the service answers a good
// request. Nothing of it counts as a failure of the service.
func TestBadRequests(t *testing.T) {
	var logged bytes.Buffer
	f := start(t, func(c *network.Config) { c.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	f.publisher(network.Publisher{AppKey: "other", AppSecret: "other's", Websites: []string{"w"}})
	if err := f.svc.AddAdvertiser(t.Context(), network.Advertiser{AdsKey: "ads-1"}); err != nil {
		t.Fatal(err)
	}
	now := f.clock.unix.Load()
	good := bad{body: string(f.signed(appKey, appSecret, ordersQuery, params{"Stime": now, "Etime": now}))}
	tests := f.badKeys()
	for _, more := range [][]bad{f.badPaths(), f.badBodies(), f.badNumbers(), f.badValues(), f.badForms(), f.badMultiparts()} {
		tests = append(tests, more...)
	}
	if len(tests) < 100 {
		t.Errorf("only %d bad requests", len(tests))
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.http == 0 {
				tt.http = http.StatusOK
			}
			a := tt.send(f)
			if a.HTTP != tt.http || a.Status != tt.status || !strings.Contains(a.Message, tt.says) {
				t.Errorf("HTTP %d, Status %d: %q; want HTTP %d, Status %d: …%s…", a.HTTP, a.Status, a.Message, tt.http, tt.status, tt.says)
			}
			if a.Message == "" || len(a.Message) > 200 || len(a.Data) > 0 {
				t.Errorf("message %q, Data %s", a.Message, a.Data)
			}
			for _, word := range []string{appSecret, secretValue, "SELECT", "sql"} {
				if strings.Contains(a.Message, word) {
					t.Errorf("%q holds %q", a.Message, word)
				}
			}
			if a := good.send(f); a.HTTP != 200 || a.Status != network.StatusSuccess {
				t.Errorf("a good request after it: HTTP %d, Status %d: %s", a.HTTP, a.Status, a.Message)
			}
		})
	}
	if logged.Len() > 0 {
		t.Errorf("the service logged failures of its own:\n%s", &logged)
	}
}

// list signs a JSON body of the order list: its window, and more members.
func (f *fixture) listBody(more string) string {
	f.tb.Helper()
	now := f.clock.unix.Load()
	return string(f.signBody(appKey, appSecret, ordersQuery, fmt.Appendf(nil, `{"Timestamp":%d,"Stime":%d,"Etime":%d%s}`, now, now-1, now, more)))
}

func (f *fixture) badKeys() []bad {
	now := f.clock.unix.Load()
	good := f.listBody("")
	at := func(timestamp any) string {
		return string(f.signed(appKey, appSecret, ordersQuery, params{"Timestamp": timestamp, "Stime": now, "Etime": now}))
	}
	other := string(f.signed("other", "other's", ordersQuery, params{"Stime": now, "Etime": now}))
	return []bad{
		{name: "unknown key", path: "/2312522/" + ordersQuery, body: good, status: network.StatusUnknownKey},
		{name: "key of 65 characters", path: "/" + strings.Repeat("1", 65) + "/" + ordersQuery, body: good, status: network.StatusUnknownKey},
		{name: "wrong secret", body: string(f.signed(appKey, secretValue, ordersQuery, params{"Stime": now, "Etime": now})), status: network.StatusSignature, says: "Sign"},
		{name: "signed with no secret", body: string(f.signed(appKey, "", ordersQuery, params{"Stime": now, "Etime": now})), status: network.StatusSignature},
		{name: "signed by another publisher", body: other, status: network.StatusSignature},
		{name: "key of another publisher", path: "/other/" + ordersQuery, body: good, status: network.StatusSignature},
		{name: "signed for another service", path: "/" + appKey + "/" + ordersDetail, body: good, status: network.StatusSignature},
		{name: "signed with a base path", body: string(f.signed("open/"+appKey, appSecret, ordersQuery, params{"Stime": now, "Etime": now})), status: network.StatusSignature},
		{name: "Sign in lower case", body: lowerSign(good), status: network.StatusSignature},
		{name: "Sign with a space", body: strings.Replace(good, `"Sign":"`, `"Sign":" `, 1), status: network.StatusSignature},
		{name: "Sign missing", body: `{"Timestamp":1}`, status: network.StatusParameter, says: "Sign"},
		{name: "sign in a JSON body", body: strings.Replace(good, `"Sign"`, `"sign"`, 1), status: network.StatusParameter, says: "Sign"},
		{name: "Sign empty", body: `{"Timestamp":1,"Sign":""}`, status: network.StatusParameter, says: "Sign"},
		{name: "Sign null", body: `{"Timestamp":1,"Sign":null}`, status: network.StatusParameter, says: "Sign"},
		{name: "Sign true", body: `{"Timestamp":1,"Sign":true}`, status: network.StatusParameter, says: "Sign"},
		{name: "Sign of 256 characters", body: `{"Sign":"` + strings.Repeat("A", 256) + `"}`, status: network.StatusParameter, says: "(the value has 256 bytes)"},
		{name: "a number made a string", body: strings.Replace(good, fmt.Sprintf(`"Etime":%d`, now), fmt.Sprintf(`"Etime":"%d"`, now), 1), status: network.StatusSignature},
		{name: "a number written otherwise", body: strings.Replace(good, fmt.Sprintf(`"Etime":%d`, now), fmt.Sprintf(`"Etime":%d.0`, now), 1), status: network.StatusSignature},
		{name: "a parameter removed", body: strings.Replace(good, fmt.Sprintf(`,"Etime":%d`, now), "", 1), status: network.StatusSignature},
		{name: "stale", body: at(now - 301), status: network.StatusTimestamp, says: "within 300 s"},
		{name: "from the future", body: at(now + 301), status: network.StatusTimestamp},
		{name: "in milliseconds", body: at(now * 1000), status: network.StatusTimestamp},
		{name: "Timestamp 0", body: at(0), status: network.StatusTimestamp},
		{name: "the largest Timestamp", body: at("9999999999999999"), status: network.StatusTimestamp},
		{name: "Timestamp of 17 digits", body: at("10000000000000000"), status: network.StatusParameter, says: "Timestamp: want an integer of at most 16 digits (the value has 17 bytes)"},
		{name: "AppKey disagrees", body: f.listBody(`,"AppKey":"other"`), status: network.StatusParameter, says: "AppKey"},
		{name: "AppKey null", body: f.listBody(`,"AppKey":null`), status: network.StatusParameter, says: "AppKey"},
		{name: "Service disagrees", body: f.listBody(`,"Service":"` + ordersDetail + `"`), status: network.StatusParameter, says: "Service"},
		{name: "service unknown", path: "/" + appKey + "/svc.nothing", body: string(f.signed(appKey, appSecret, "svc.nothing", params{})), status: network.StatusNoService},
		{name: "service unknown to a brand", path: "/ads-1/svc.service.links.post", body: `{}`, status: network.StatusNoService},
	}
}

func (f *fixture) badPaths() []bad {
	good := f.listBody("")
	path := "/" + appKey + "/" + ordersQuery
	none := func(name, path string) bad {
		return bad{name: name, path: path, body: good, http: 404, status: network.StatusNoRoute}
	}
	unknown := func(name, path string) bad {
		return bad{name: name, path: path, body: good, status: network.StatusUnknownKey}
	}
	wrong := func(method string) bad {
		return bad{name: method, method: method, body: good, http: 405, status: network.StatusMethod}
	}
	return []bad{
		none("root", "/"), none("key alone", "/"+appKey), none("no service", "/"+appKey+"/"), none("empty key", "//"+ordersQuery),
		none("two slashes", "//"+appKey+"/"+ordersQuery), none("two slashes within", "/"+appKey+"//"+ordersQuery),
		none("slash at the end", path+"/"), none("extra segment", path+"/x"), none("up", "/../"+appKey+"/"+ordersQuery),
		none("up and down", "/x/../"+appKey+"/"+ordersQuery), none("here", "/."+path), none("both in one segment", "/"+appKey+"%2f"+ordersQuery),
		unknown("up, escaped", "/%2e%2e/"+ordersQuery), unknown("slash, escaped", "/a%2F"+appKey+"/"+ordersQuery),
		unknown("key, escaped", "/%32312521/"+ordersQuery), unknown("NUL", "/"+appKey+"%00/"+ordersQuery), unknown("dot", "/./"+ordersQuery),
		unknown("not UTF-8", "/%ff/"+ordersQuery), unknown("SQL", "/'%20OR%20'1'='1/"+ordersQuery), unknown("line break", "/"+appKey+"%0d%0a/"+ordersQuery),
		{name: "service with NUL", path: path + "%00", body: good, status: network.StatusSignature},
		{name: "service in upper case", path: "/" + appKey + "/" + strings.ToUpper(ordersQuery), body: good, status: network.StatusSignature},
		wrong("GET"), wrong("PUT"), wrong("PATCH"), wrong("DELETE"), wrong("OPTIONS"), wrong("PROPFIND"),
		{name: "PUT to a link", method: "PUT", path: "/c/100001", http: 405, status: network.StatusMethod},
		{name: "GET of no link", method: "GET", path: "/c/9999999999999999999", http: 404, status: network.StatusNoRoute},
	}
}

// zipped is text of n bytes compressed to a thousandth.
func zipped(tb testing.TB, n int) string {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(bytes.Repeat([]byte(" "), n)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}
