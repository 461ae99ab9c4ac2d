package postback_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/postback"
)

const (
	secret = "s3cr3t-of-main"
	path   = "/push/main"
)

var now = time.Unix(1_795_000_000, 0)

// receive returns a receiver of the account "main" and of "other".
func receive(t testing.TB, edit func(*postback.Config)) *postback.Receiver {
	t.Helper()
	c := postback.Config{
		Accounts: []postback.Account{{Name: "main", AppKey: "2312521", AppSecret: secret}, {Name: "other", AppSecret: "another"}},
		Now:      func() time.Time { return now },
	}
	if edit != nil {
		edit(&c)
	}
	r, err := postback.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// work lets the receiver hand the orders of "main" to a function until the test
// ends, or the returned function is called.
func work(t testing.TB, r *postback.Receiver, fetch postback.Fetch) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx, "main", fetch) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for post(r, path, sign(t, secret, path, order("warm", "up"))).Body.String() != "1" {
		<-tick.C
	}
	return stop
}

func order(program, sn string) string {
	return fmt.Sprintf(`{"Id":"1","ProgramId":%q,"OrderSn":%q,"Status":"1","AppKey":"2312521","Timestamp":%d}`, program, sn, now.Unix())
}

func sign(t testing.TB, secret, path, body string) []byte {
	t.Helper()
	signed, err := openapi.SignBody(secret, path, []byte(body), openapi.PlainAmpersand)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func post(r http.Handler, path string, body []byte) *httptest.ResponseRecorder {
	got := httptest.NewRecorder()
	r.ServeHTTP(got, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)))
	return got
}

// Pushes that are taken, in the forms that networks may give them.
func TestTaken(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	got := make(chan postback.Order, 10)
	work(t, r, func(_ context.Context, o postback.Order) error { got <- o; return nil })
	<-got // the one that work sends
	stamp := fmt.Sprintf(`"Timestamp":%d`, now.Unix())
	for name, tt := range map[string]struct {
		body string
		want postback.Order
	}{
		"ours":            {order("1042", "SN-1"), postback.Order{ProgramID: "1042", OrderSn: "SN-1"}},
		"numbers":         {`{"ProgramId":1042,"OrderSn":77,` + stamp + `}`, postback.Order{ProgramID: "1042", OrderSn: "77"}},
		"text time":       {fmt.Sprintf(`{"ProgramId":"1","OrderSn":"2","Timestamp":"%d"}`, now.Unix()), postback.Order{ProgramID: "1", OrderSn: "2"}},
		"early":           {fmt.Sprintf(`{"ProgramId":"1","OrderSn":"3","Timestamp":%d}`, now.Unix()-300), postback.Order{ProgramID: "1", OrderSn: "3"}},
		"ampersand":       {`{"ProgramId":"1","OrderSn":"a&b",` + stamp + `}`, postback.Order{ProgramID: "1", OrderSn: "a&b"}},
		"other members":   {`{"ProgramId":"1","OrderSn":"4","X":{"Y":[1,{}]},` + stamp + `}`, postback.Order{ProgramID: "1", OrderSn: "4"}},
		"test":            {`{"Test":"1","AppKey":"2312521",` + stamp + `}`, postback.Order{}},
		"test with field": {`{"OrderSn":"","ProgramId":"1",` + stamp + `}`, postback.Order{}},
	} {
		answer := post(r, path, sign(t, secret, path, tt.body))
		if answer.Code != http.StatusOK || answer.Body.String() != "1" {
			t.Errorf("%s: HTTP %d %q", name, answer.Code, answer.Body)
			continue
		}
		if tt.want == (postback.Order{}) {
			continue
		}
		if o := <-got; o != tt.want {
			t.Errorf("%s: %+v, want %+v", name, o, tt.want)
		}
	}
	if len(got) > 0 {
		t.Errorf("a test is no hint: %+v", <-got)
	}
}

// What is no push, or not one of this account, is answered -1, fetches nothing
// and leaves no trace in the log.
func TestNotTaken(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := receive(t, func(c *postback.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	got := make(chan postback.Order, 100)
	stop := work(t, r, func(_ context.Context, o postback.Order) error { got <- o; return nil })
	<-got
	good := sign(t, secret, path, order("1042", "MARK"))
	stamp := fmt.Sprintf(`"Timestamp":%d`, now.Unix())
	signed := func(body string) []byte { return sign(t, secret, path, body) }
	for name, tt := range map[string]struct {
		path string
		body []byte
		code int
	}{
		"empty":                  {path, nil, 200},
		"no JSON":                {path, []byte("MARK"), 200},
		"no object":              {path, []byte(`["MARK"]`), 200},
		"two objects":            {path, append(bytes.Clone(good), good...), 200},
		"cut short":              {path, good[:len(good)-2], 200},
		"invalid UTF-8":          {path, bytes.Replace(good, []byte("MARK"), []byte("MARK\xff"), 1), 200},
		"no signature":           {path, []byte(order("1042", "MARK")), 200},
		"signature is no text":   {path, []byte(strings.TrimSuffix(order("1042", "MARK"), "}") + `,"Sign":["MARK"]}`), 200},
		"changed":                {path, bytes.Replace(good, []byte("MARK"), []byte("MARS"), 1), 200},
		"doubled member":         {path, bytes.Replace(good, []byte(`"OrderSn"`), []byte(`"OrderSn":"x","OrderSn"`), 1), 200},
		"another secret":         {path, sign(t, "another", path, order("1042", "MARK")), 200},
		"no secret":              {path, sign(t, "", path, order("1042", "MARK")), 200},
		"signed for another":     {path, sign(t, secret, "/push/other", order("1042", "MARK")), 200},
		"sent to another":        {"/push/other", good, 200},
		"another key":            {path, signed(`{"ProgramId":"1","OrderSn":"MARK","AppKey":"7",` + stamp + `}`), 200},
		"stale":                  {path, signed(fmt.Sprintf(`{"ProgramId":"1","OrderSn":"MARK","Timestamp":%d}`, now.Unix()-301)), 200},
		"of the future":          {path, signed(fmt.Sprintf(`{"ProgramId":"1","OrderSn":"MARK","Timestamp":%d}`, now.Unix()+301)), 200},
		"far time":               {path, signed(`{"ProgramId":"1","OrderSn":"MARK","Timestamp":99999999999999999999}`), 200},
		"time is no number":      {path, signed(`{"ProgramId":"1","OrderSn":"MARK","Timestamp":"soon"}`), 200},
		"no time":                {path, signed(`{"ProgramId":"1","OrderSn":"MARK"}`), 200},
		"no program":             {path, signed(`{"OrderSn":"MARK",` + stamp + `}`), 200},
		"long order":             {path, signed(`{"ProgramId":"1","OrderSn":"` + strings.Repeat("M", 256) + `",` + stamp + `}`), 200},
		"order is no text":       {path, signed(`{"ProgramId":"1","OrderSn":{"MARK":1},` + stamp + `}`), 200},
		"deep":                   {path, []byte(`{"Sign":"MARK","X":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`), 200},
		"large":                  {path, signed(`{"ProgramId":"1","OrderSn":"MARK","X":"` + strings.Repeat("x", 64<<10) + `",` + stamp + `}`), 413},
		"unknown account":        {"/push/MARK", good, 404},
		"no account":             {"/push/", good, 404},
		"another path":           {"/main", good, 404},
		"path that leads there":  {"/push/../push/main", good, 404},
		"path that is escaped":   {"/push/m%61in", good, 404},
		"more path":              {"/push/main/", good, 404},
		"path of another prefix": {"/pushmain", good, 404},
	} {
		answer := post(r, tt.path, tt.body)
		if answer.Code != tt.code || strings.TrimSpace(answer.Body.String()) != "-1" {
			t.Errorf("%s: HTTP %d %q", name, answer.Code, answer.Body)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodHead, "TRACE"} {
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, httptest.NewRequest(method, path, bytes.NewReader(good)))
		if answer.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: HTTP %d", method, answer.Code)
		}
	}
	if answer := post(r, path, good); answer.Body.String() != "1" {
		t.Errorf("the good one: %q", answer.Body)
	}
	if o := <-got; o.OrderSn != "MARK" {
		t.Errorf("%+v", o)
	}
	stop()
	if len(got) > 0 || strings.Contains(log.String(), "MARK") || log.Len() > 0 {
		t.Errorf("%d orders too many; log %s", len(got), &log)
	}
}

// A fetch that fails is told without what it was about, and the next push of the
// order is fetched again. Nothing is taken before and after somebody works on
// the account.
func TestFetchFails(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := receive(t, func(c *postback.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	good := sign(t, secret, path, order("1042", "MARK"))
	if answer := post(r, path, good); answer.Body.String() != "-1" {
		t.Errorf("nobody works on the account: %q", answer.Body)
	}
	calls := make(chan postback.Order)
	stop := work(t, r, func(_ context.Context, o postback.Order) error {
		calls <- o
		return errors.New("no route")
	})
	<-calls
	for range 2 {
		if answer := post(r, path, good); answer.Body.String() != "1" {
			t.Errorf("%q", answer.Body)
		}
		<-calls
	}
	if err := r.Run(t.Context(), "main", nil); !errors.Is(err, postback.ErrBusy) {
		t.Error(err)
	}
	if err := r.Run(t.Context(), "MARK", nil); err == nil {
		t.Error("an account that is not there")
	}
	stop()
	if answer := post(r, path, good); answer.Body.String() != "-1" {
		t.Errorf("nobody works on the account any more: %q", answer.Body)
	}
	if text := log.String(); strings.Contains(text, "MARK") || !strings.Contains(text, "account=main error=\"no route\"") {
		t.Error(text)
	}
}

func TestConfigRefusals(t *testing.T) {
	t.Parallel()
	one := []postback.Account{{Name: "a", AppSecret: secret}}
	for field, c := range map[string]postback.Config{
		"Path": {Accounts: one, Path: "push"}, "Accounts": {}, "Name": {Accounts: []postback.Account{{Name: "a/b", AppSecret: secret}}},
		"AppSecret": {Accounts: []postback.Account{{Name: "a"}}}, "MaxWaiting": {Accounts: one, MaxWaiting: -1},
		"Concurrency": {Accounts: one, Concurrency: -1},
	} {
		_, err := postback.New(c)
		var wrong *postback.ConfigError
		if !errors.As(err, &wrong) || wrong.Field != field || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := postback.New(postback.Config{Accounts: append(one, one...)}); err == nil {
		t.Error("two accounts of one name")
	}
}

// Whatever comes, the receiver answers, and takes nothing that is not signed.
func FuzzPush(f *testing.F) {
	r := receive(f, nil)
	f.Add([]byte(order("1042", "SN-1")))
	f.Add([]byte(`{"Sign":"","Timestamp":1795000000}`))
	f.Add([]byte(`{"Sign":"D41D8CD98F00B204E9800998ECF8427E","Timestamp":"1795000000","OrderSn":1,"ProgramId":2}`))
	f.Add(sign(f, "another", path, order("1", "2")))
	f.Add([]byte("{\"Sign\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if answer := post(r, path, body); answer.Body.String() == "1" {
			t.Errorf("taken: %q", body)
		}
	})
}
