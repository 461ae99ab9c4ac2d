package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/network/networktest"
	"github.com/orderwire/orderwire/sources/openapi/openapitest"
)

func TestSignCommand(t *testing.T) {
	t.Parallel()
	for _, v := range openapitest.Vectors(t) {
		args := []string{"sign", "--secret", v.Secret, "--path", v.Path}
		if v.HexAmp() {
			args = append(args, "--hex-amp")
		}
		if out, errs, code := orderwire(t, v.Body, args...); code != 0 || out != v.Sign+"\n" {
			t.Errorf("%s/%s: %q, exit code %d, %s; want %s", v.Name, v.Variant, out, code, errs, v.Sign)
		}
	}
}

// Every vector is taken as a posted body, whichever form of the ampersand it
// was signed with, and refused with one byte of its signature changed.
func TestNetworkTakesTheVectors(t *testing.T) {
	t.Parallel()
	urls := make(map[string]string)
	for _, v := range openapitest.Vectors(t) {
		url := urls[v.Secret]
		if url == "" {
			m := managed{t, networktest.Database(t)}
			m.do(new(any), "brand", "add", "Shop")
			m.do(new(any), "program", "add", "--brand", "Shop", "--name", "Shop", "--domain", "example.com", "--domain", "e.com")
			url = launchNetwork(t, "--db", m.db, "--app-key", "2312521", "--app-secret", v.Secret, "--clock-window", "-1s", "--website", "1026", "--website", "7")
			urls[v.Secret] = url
		}
		good := post(t, url+v.Path, v.Body)
		if good.Message == "" || strings.Contains(strings.ToLower(good.Message), "sign") {
			t.Errorf("%s/%s: %+v", v.Name, v.Variant, good)
		}
		if strings.HasPrefix(v.Name, "links") && good.Status != 0 {
			t.Errorf("%s/%s: %+v", v.Name, v.Variant, good)
		}
		bad := post(t, url+v.Path, strings.Replace(v.Body, v.Sign, "0"+v.Sign[1:], 1))
		if bad.Status == 0 || bad.Status == good.Status || !strings.Contains(strings.ToLower(bad.Message), "sign") {
			t.Errorf("%s/%s with another signature: %+v", v.Name, v.Variant, bad)
		}
	}
}

type envelope struct {
	Status  int
	Message string
}

func post(tb testing.TB, url, body string) envelope {
	tb.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil || resp.StatusCode != http.StatusOK {
		tb.Fatalf("HTTP %d: %s", resp.StatusCode, raw)
	}
	return e
}

// launchNetwork starts `orderwire network` and returns its address.
func launchNetwork(tb testing.TB, args ...string) string {
	tb.Helper()
	args = append([]string{"network", "--listen", "127.0.0.1:0", "--db", networktest.Database(tb)}, args...)
	p := launch(tb, args...)
	line := p.log.await(tb, "network is answering")
	_, rest, _ := strings.Cut(line, "url=")
	url, _, _ := strings.Cut(rest, " ")
	return url
}

func TestCheckCommand(t *testing.T) {
	t.Parallel()
	url := launchNetwork(t, "--app-key", "k1", "--app-secret", "right")
	tests := []struct {
		name, yaml string
		code       int
		want       string // in the output or the errors
	}{
		{"good", account("a", url, "k1", "right"), 0, "account a: the network at " + url + " accepts its key"},
		{"wrong secret", account("a", url, "k1", "wrong"), 1, "account a: the network refuses the key"},
		{"nobody there", account("a", "http://127.0.0.1:1", "k1", "right"), 1, "account a: the network cannot be reached"},
		{"unknown key", "acounts: []\n", 2, `f.yaml:1: unknown key "acounts" (did you mean accounts?)`},
		{"weak webhook", account("a", url, "k1", "right") + "webhooks:\n  - {name: w, url: 'http://example.com', secret: whsec_aaaa}\n", 2, "secret"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "f.yaml")
			if err := os.WriteFile(file, []byte(tt.yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			out, errs, code := orderwire(t, "", "check", "-c", file)
			if code != tt.code || !strings.Contains(out+errs, tt.want) {
				t.Errorf("exit code %d, want %d\n%s%s", code, tt.code, out, errs)
			}
			if strings.Contains(out+errs, "right") || strings.Contains(out+errs, "wrong\"") {
				t.Errorf("the secret is shown:\n%s%s", out, errs)
			}
		})
	}
}

func account(name, url, key, secret string) string {
	return "accounts:\n  - {name: " + name + ", base_url: '" + url + "', app_key: " + key + ", app_secret: " + secret +
		", poll: {max_attempts: 1}}\n"
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"walk"}, {"run", "--sometimes"}, {"run", "extra"}, {"run", "-c", "/nowhere.yaml"}, {"sign"}, {"network"},
		{"events", "-o", "xml"}, {"run", "-c", "x", "--only", "everything"},
	} {
		if out, errs, code := orderwire(t, "", args...); code != 2 || !strings.HasPrefix(errs, "orderwire: ") || out != "" {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out, errs)
		}
	}
}

func TestHelpTeaches(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"demo", "run", "network", "check", "events", "report", "replay", "sign"} {
		out := succeed(t, command, "--help")
		if !strings.Contains(out, "Usage:") || len(out) < 300 {
			t.Errorf("%s --help:\n%s", command, out)
		}
	}
}

func TestStatusService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 50, yaml: "http: {listen: '127.0.0.1:0', token: t0ken}\n"})
	p := launch(t, "run", "-c", w.config)
	_, url, _ := strings.Cut(p.log.await(t, "status service"), "url=")
	base := strings.TrimSuffix(url, "/api/v1/status")
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(t, base+path, ""); code != http.StatusOK || !strings.Contains(body, `"problems":[]`) {
			t.Errorf("%s: HTTP %d: %s", path, code, body)
		}
	}
	for path, has := range map[string]string{
		"/api/v1/reports/reversals": `"rows":`, "/api/v1/orders?limit=1": `"total":`, "/api/v1/dead-letters": `"dead_letters":[]`, "/api/v1/archive": `"partitions":`,
		"/metrics": `orderwire_account_coverage_gaps{account="main"} 0`,
	} {
		if code, body := get(t, base+path, "t0ken"); code != http.StatusOK || !strings.Contains(body, has) {
			t.Errorf("%s: HTTP %d: %s", path, code, body)
		}
	}
	for _, tt := range []struct {
		path, token string
		want        int
	}{
		{"/api/v1/status", "", http.StatusUnauthorized}, {"/api/v1/status", "wrong", http.StatusUnauthorized},
		{"/api/v1/status", "t0ken", http.StatusOK}, {"/elsewhere", "t0ken", http.StatusNotFound},
	} {
		code, body := get(t, base+tt.path, tt.token)
		if code != tt.want || code == http.StatusOK && !strings.Contains(body, `"name":"main"`) {
			t.Errorf("%s with token %q: HTTP %d: %s", tt.path, tt.token, code, body)
		}
	}
	if code, body := get(t, base+"/", "t0ken"); code != http.StatusOK || !strings.Contains(body, "Commission by day of order") {
		t.Errorf("the console: HTTP %d: %s", code, body)
	}
	if code, body := get(t, base+"/orders", ""); code != http.StatusOK || !strings.Contains(body, "http.token") {
		t.Errorf("the console without the token: HTTP %d: %s", code, body)
	}
	p.terminate(t)
}

func get(tb testing.TB, url, token string) (int, string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// Without configuration: the demo shows everything that the line does, ends by
// itself, and the commands that it names work on what it leaves.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := succeed(t, "demo", "--for", "9s", "--orders", "300", "--dir", dir)
	for _, want := range []string{"Summary", "orders 3", "archive ", "delivered", "commission CNY", "Try next"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if first, _, _ := strings.Cut(out, "\n"); !strings.HasPrefix(first, "The console") || !strings.Contains(first, "http://127.0.0.1:") {
		t.Errorf("the first line is %q", first)
	}
	if strings.Contains(out, "archive (0 files)") {
		t.Errorf("no file was archived:\n%s", out)
	}
	config := filepath.Join(dir, "orderwire.yaml")
	if events := succeed(t, "events", "-c", config, "-o", "json"); strings.Count(events, "\n") < 300 {
		t.Errorf("%d events", strings.Count(events, "\n"))
	}
	var sums []map[string]any
	if err := json.Unmarshal([]byte(succeed(t, "report", "-c", config, "-o", "json")), &sums); err != nil || len(sums) == 0 {
		t.Fatalf("%v, %d sums", err, len(sums))
	}
	for _, name := range []string{
		"account", "program_id", "website_id", "sub_id", "currency", "status", "day", "orders", "order_amount", "commission",
	} {
		if _, ok := sums[0][name]; !ok {
			t.Errorf("a sum has no %s: %v", name, sums[0])
		}
	}
	if _, isText := sums[0]["commission"].(string); !isText {
		t.Errorf("commission is no decimal string: %v", sums[0])
	}
}
