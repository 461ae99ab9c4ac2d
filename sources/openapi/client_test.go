package openapi_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
)

// seen is what the server saw of a request.
type seen struct {
	method, path, contentType string
	raw                       []byte
	params                    map[string]any
}

// record keeps the last request and gives the answer.
func record(t *testing.T, into *seen, answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		into.raw, into.params = bodyOf(t, r)
		into.method, into.path, into.contentType = r.Method, r.URL.Path, r.Header.Get("Content-Type")
		io.WriteString(w, answer)
	}
}

func TestRequests(t *testing.T) {
	now := time.Unix(1692696195, 0)
	full := openapi.OrdersQuery{
		From: time.Unix(100, 9e8), To: time.Unix(200, 0), Page: 2, PageSize: 50, OrderField: "ChargeTime",
		ProgramID: "7", WebsiteID: "8", SubID: "a&b", Status: "-1",
	}
	tests := []struct {
		name, path string
		send       func(*openapi.Client) error
		want       map[string]any
	}{
		{"orders", ordersPath, func(c *openapi.Client) error { _, err := c.Orders(t.Context(), full); return err }, map[string]any{
			"Stime": 100.0, "Etime": 200.0, "Page": 2.0, "PageSize": 50.0, "OrderField": "ChargeTime",
			"ProgramId": "7", "WebsiteId": "8", "SubId": "a&b", "Status": "-1",
		}},
		{"orders, as little as possible", ordersPath, func(c *openapi.Client) error {
			_, err := c.Orders(t.Context(), openapi.OrdersQuery{From: time.Unix(100, 0), To: time.Unix(100, 0)})
			return err
		}, map[string]any{"Stime": 100.0, "Etime": 100.0}},
		{"order", "/2312521/svc.open-service.orders.detail.get", func(c *openapi.Client) error {
			_, err := c.Order(t.Context(), "7", `E"1\`)
			return err
		}, map[string]any{"ProgramId": "7", "OrderSn": `E"1\`}},
		{"link", "/2312521/svc.service.links.post", func(c *openapi.Client) error {
			_, err := c.Link(t.Context(), openapi.LinkRequest{URL: "https://shop.example/?a=1&b=<中>", WebsiteID: "8"})
			return err
		}, map[string]any{"Url": "https://shop.example/?a=1&b=<中>", "WebsiteId": "8"}},
		{"check", ordersPath, func(c *openapi.Client) error { return c.Check(t.Context()) }, map[string]any{
			"Stime": float64(now.Unix() - 60), "Etime": float64(now.Unix()), "Page": 1.0, "PageSize": 1.0,
		}},
	}
	for _, tt := range tests {
		for _, amp := range []openapi.Ampersand{openapi.PlainAmpersand, openapi.HexAmpersand} {
			t.Run(tt.name+"/"+map[openapi.Ampersand]string{false: "plain", true: "hex"}[amp], func(t *testing.T) {
				var got seen
				c, _ := serve(t, record(t, &got, emptyPage), func(cfg *openapi.Config) {
					cfg.Now, cfg.Ampersand = func() time.Time { return now }, amp
				})
				_ = tt.send(c) // the answer suits only one of the operations
				tt.want["Timestamp"] = float64(now.Unix())
				checkRequest(t, got, tt.path, tt.want, amp)
			})
		}
	}
}

func checkRequest(t *testing.T, got seen, path string, want map[string]any, amp openapi.Ampersand) {
	t.Helper()
	if got.method != http.MethodPost || got.path != path || got.contentType != "application/json" {
		t.Errorf("%s %s %s", got.method, got.path, got.contentType)
	}
	sign, err := openapi.Sign(testSecret, path, got.raw, amp)
	if err != nil || got.params["Sign"] != sign {
		t.Errorf("Sign = %v, want %s, %v", got.params["Sign"], sign, err)
	}
	canonical, err := openapi.Canonical(got.raw, amp)
	if err != nil || !strings.HasPrefix(string(got.raw), string(canonical[:len(canonical)-1])) {
		t.Errorf("sent %s\nsigned %s", got.raw, canonical)
	}
	delete(got.params, "Sign")
	if !maps.Equal(got.params, want) {
		t.Errorf("parameters %v, want %v", got.params, want)
	}
}

func TestPathOfTheBaseURLIsNotSigned(t *testing.T) {
	var got seen
	s, _ := serve(t, record(t, &got, emptyPage), func(c *openapi.Config) { c.ServicePrefix = "brand"; c.BaseURL += "/open/v1/" })
	if _, err := s.Orders(t.Context(), dayQuery); err != nil {
		t.Fatal(err)
	}
	signed := "/2312521/brand.open-service.orders.query.get"
	if got.path != "/open/v1"+signed {
		t.Errorf("path %s", got.path)
	}
	if ok, err := openapi.Verify(testSecret, signed, got.raw, got.params["Sign"].(string)); !ok {
		t.Errorf("signature refused: %v", err)
	}
}

func TestSignBody(t *testing.T) {
	for _, body := range []string{`{}`, `{"b":"x","a": 1,"Sign":"old"}`} {
		sign, _ := openapi.Sign("s", "/k/svc", []byte(body), openapi.PlainAmpersand)
		want := map[bool]string{true: `{"Sign":"` + sign + `"}`, false: `{"a":1,"b":"x","Sign":"` + sign + `"}`}[body == `{}`]
		got, err := openapi.SignBody("s", "/k/svc", []byte(body), openapi.PlainAmpersand)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", body, got, err, want)
		}
	}
	if _, err := openapi.SignBody("s", "/k/svc", []byte(`[]`), openapi.PlainAmpersand); !errors.Is(err, openapi.ErrBody) {
		t.Errorf("an array: %v", err)
	}
}

func TestParametersAreChecked(t *testing.T) {
	long := strings.Repeat("中", 256)
	day := func(change func(*openapi.OrdersQuery)) func(*openapi.Client) error {
		q := dayQuery
		change(&q)
		return func(c *openapi.Client) error { _, err := c.Orders(t.Context(), q); return err }
	}
	tests := []struct {
		name, param string
		send        func(*openapi.Client) error
	}{
		{"no address", "Url", func(c *openapi.Client) error {
			_, err := c.Link(t.Context(), openapi.LinkRequest{WebsiteID: "1"})
			return err
		}},
		{"no site", "WebsiteId", func(c *openapi.Client) error {
			_, err := c.Link(t.Context(), openapi.LinkRequest{URL: "https://example.com"})
			return err
		}},
		{"no program", "ProgramId", func(c *openapi.Client) error { _, err := c.Order(t.Context(), "", "1"); return err }},
		{"no order", "OrderSn", func(c *openapi.Client) error { _, err := c.Order(t.Context(), "1", ""); return err }},
		{"not UTF-8", "OrderSn", func(c *openapi.Client) error { _, err := c.Order(t.Context(), "1", "\xff"); return err }},
		{"too long", "SubId", day(func(q *openapi.OrdersQuery) { q.SubID = long })},
		{"no From", "Etime", day(func(q *openapi.OrdersQuery) { q.From = time.Time{} })},
		{"To before From", "Etime", day(func(q *openapi.OrdersQuery) { q.To = q.From.Add(-time.Second) })},
		{"a negative page", "Page", day(func(q *openapi.OrdersQuery) { q.Page = -1 })},
		{"a negative size", "PageSize", day(func(q *openapi.OrdersQuery) { q.PageSize = -1 })},
	}
	c, requests := serve(t, answers(emptyPage), nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.send(c)
			var wrong *schema.ParamError
			if !errors.As(err, &wrong) || wrong.Name != tt.param || openapi.Temporary(err) {
				t.Errorf("got %v, want a ParamError about %s", err, tt.param)
			}
		})
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests were sent", requests.Load())
	}
}

func TestOrders(t *testing.T) {
	now := time.Date(2024, 6, 18, 12, 0, 0, 0, time.FixedZone("", 8*3600))
	c, _ := serve(t, answers(`{"Status":"200","Data":{"List":[{"OrderSn":"1"},{"OrderSn": 2}],"Total":"41"}}`), func(cfg *openapi.Config) {
		cfg.Now = func() time.Time { return now }
	})
	page, err := c.Orders(t.Context(), dayQuery)
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(page.Records); !slices.Equal(got, []string{`{"OrderSn":"1"}`, `{"OrderSn": 2}`}) || page.Total != 41 {
		t.Errorf("records %q of %d", got, page.Total)
	}
	split, _ := openapi.SplitOrders([]byte(`[{"OrderSn":"1"},{"OrderSn": 2}]`))
	if page.Digest == 0 || page.Digest != split.Digest {
		t.Errorf("digest %x, want %x", page.Digest, split.Digest)
	}
	if page.AnsweredAt != now.UTC() {
		t.Errorf("answered at %v", page.AnsweredAt)
	}
}

func TestOrdersEmptyPage(t *testing.T) {
	for _, body := range []string{
		emptyPage, `{"Status":0}`, `{"Status":200,"Data":null}`, `{"Data":{}}`, `{"Status":0,"Data":{"List":[],"Total":0}}`,
	} {
		c, _ := serve(t, answers(body), nil)
		if page, err := c.Orders(t.Context(), dayQuery); err != nil || len(page.Records) != 0 {
			t.Errorf("%s: %v, %v", body, page, err)
		}
	}
}

func TestOrder(t *testing.T) {
	c, _ := serve(t, answers(`{"Status":0,"Data":{ "OrderSn":"1", "Details":[] }}`), nil)
	got, err := c.Order(t.Context(), "7", "1")
	if err != nil || string(got.Raw) != `{ "OrderSn":"1", "Details":[] }` || got.AnsweredAt.IsZero() {
		t.Errorf("got %s at %v, %v", got.Raw, got.AnsweredAt, err)
	}
}

func TestOrderNotFound(t *testing.T) {
	for _, body := range []string{`{"Status":0}`, `{"Status":0,"Data":null}`, `{"Status":0,"Data":[ ]}`, `{"Status":0,"Data":{ }}`} {
		c, requests := serve(t, answers(body), nil)
		_, err := c.Order(t.Context(), "7", "1")
		if !errors.Is(err, openapi.ErrNotFound) || openapi.Temporary(err) || requests.Load() != 1 {
			t.Errorf("%s: %v after %d requests", body, err, requests.Load())
		}
	}
}

func TestOrderOfAnotherShape(t *testing.T) {
	for _, body := range []string{`{"Status":0,"Data":"1"}`, `{"Status":0,"Data":[{"OrderSn":"1"}]}`, `{"Status":0,"Data":0}`} {
		c, _ := serve(t, answers(body), nil)
		_, err := c.Order(t.Context(), "7", "1")
		var wrong *openapi.BodyError
		if !errors.As(err, &wrong) || wrong.Kind != openapi.BodyShape || wrong.Attempts != 1 {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestLink(t *testing.T) {
	target := "https://shop.example/item"
	tests := []struct{ name, data, want string }{
		{"a string", `" https:\/\/go.example\/1 "`, "https://go.example/1"},
		{"Url", `{"Id":1,"Url":"https://go.example/1"}`, "https://go.example/1"},
		{"lower case", `{"link_id":"4","link":"https://go.example/1"}`, "https://go.example/1"},
		{"the target repeated", `{"Url":"https://shop.example/item","ShortUrl":"https://go.example/1"}`, "https://go.example/1"},
		{"long before short", `{"ShortUrl":"https://s.example","LinkUrl":"https://go.example/1","ClickUrl":"x"}`, "https://go.example/1"},
		{"an empty one", `{"Link":"","ShortUrl":"https://go.example/1","Url":null}`, "https://go.example/1"},
		{"nothing of the kind", `{"Id":"4","Link":{"a":1}}`, ""},
		{"null", `null`, ""},
		{"an empty string", `" "`, ""},
		{"an array", `["https://go.example/1"]`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := serve(t, answers(`{"Status":0,"Data":`+tt.data+`}`), nil)
			link, err := c.Link(t.Context(), openapi.LinkRequest{URL: target, WebsiteID: "8"})
			var wrong *openapi.BodyError
			switch {
			case tt.want == "" && (!errors.As(err, &wrong) || wrong.Kind != openapi.BodyShape):
				t.Errorf("err = %v, want a BodyError", err)
			case tt.want != "" && (err != nil || link.URL != tt.want || string(link.Raw) != tt.data):
				t.Errorf("got %q from %s, %v", link.URL, link.Raw, err)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	c, _ := serve(t, answers(`{"Status":1001,"Message":"Sign error"}`), nil)
	var refused *openapi.RefusedError
	if err := c.Check(t.Context()); !errors.As(err, &refused) {
		t.Errorf("err = %v, want a RefusedError", err)
	}
}
