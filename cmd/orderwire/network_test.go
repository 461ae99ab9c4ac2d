package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network/networktest"
	"github.com/orderwire/orderwire/sources/openapi"
)

// managed is a database that is set up by the subcommands alone.
type managed struct {
	tb testing.TB
	db string
}

// do runs a subcommand of network and reads its JSON.
func (m managed) do(to any, args ...string) {
	m.tb.Helper()
	out := succeed(m.tb, append(append([]string{"network"}, args...), "--db", m.db, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), to); err != nil {
		m.tb.Fatalf("%v: %v\n%s", args, err, out)
	}
}

type credentials struct {
	Key    string `json:"app_key"`
	Secret string `json:"app_secret"`
}

// list calls orders.query.get.
func (c credentials) list(tb testing.TB, url string) envelope {
	tb.Helper()
	now := time.Now().Unix()
	path := "/" + c.Key + "/svc.open-service.orders.query.get"
	body := fmt.Appendf(nil, `{"Etime":%d,"Stime":%d,"Timestamp":%d`, now, now, now)
	sign, err := openapi.Sign(c.Secret, path, append(body, '}'), openapi.PlainAmpersand)
	if err != nil {
		tb.Fatal(err)
	}
	return post(tb, url+path, fmt.Sprintf(`%s,"Sign":%q}`, body, sign))
}

// A network is set up and run without a flag for a key; keys are rotated and
// disabled beside the running service.
func TestNetworkManagement(t *testing.T) {
	t.Parallel()
	m := managed{t, networktest.Database(t)}
	var websites []struct{ ID, Publisher string }
	m.do(&websites, "publisher", "add", "Blog 7", "--website", "1026")
	m.do(&websites, "website", "add", "Blog 7", "1027", "1028")
	if len(websites) != 3 || websites[2].ID != "1028" || websites[2].Publisher != "Blog 7" {
		t.Errorf("%+v", websites)
	}
	var first, second credentials
	m.do(&first, "key", "new", "--publisher", "Blog 7")
	url := launchNetwork(t, "--db", m.db)
	if e := first.list(t, url); e.Status != 0 {
		t.Errorf("%+v", e)
	}
	m.do(&second, "key", "rotate", first.Key)
	if first.Secret == second.Secret || first.Key != second.Key {
		t.Error("the key has not got a new secret")
	}
	if a, b := first.list(t, url), second.list(t, url); a.Status != 0 || b.Status != 0 {
		t.Errorf("during the overlap: old %+v, new %+v", a, b)
	}
	var third credentials
	m.do(&third, "key", "rotate", first.Key, "--overlap", "0s")
	if a, b := second.list(t, url), third.list(t, url); a.Status == 0 || b.Status != 0 {
		t.Errorf("without overlap: old %+v, new %+v", a, b)
	}
	var switched struct{ Disabled *time.Time }
	m.do(&switched, "key", "disable", first.Key)
	if e := third.list(t, url); e.Status == 0 || switched.Disabled == nil {
		t.Errorf("disabled: %+v", e)
	}
	m.do(&switched, "key", "enable", first.Key)
	if e := third.list(t, url); e.Status != 0 {
		t.Errorf("enabled: %+v", e)
	}
	keys := succeed(t, "network", "key", "list", "--db", m.db) + succeed(t, "network", "key", "list", "--db", m.db, "-o", "json")
	for _, c := range []credentials{first, second, third} {
		if !strings.Contains(keys, c.Key) || strings.Contains(keys, c.Secret) {
			t.Errorf("list of keys:\n%s", keys)
		}
	}
}

func TestNetworkBrands(t *testing.T) {
	t.Parallel()
	m := managed{t, networktest.Database(t)}
	var key struct {
		Brand string
		Key   string `json:"ads_key"`
	}
	m.do(&key, "brand", "add", "Kettle World")
	if key.Brand != "Kettle World" || len(key.Key) != 16 {
		t.Errorf("%+v", key)
	}
	var p struct {
		ID, Name, Status, Category string
		Domains                    []string
		ClickDays                  int    `json:"click_days"`
		ExchangeRate               string `json:"exchange_rate"`
	}
	m.do(&p, "program", "add", "--brand", "Kettle World", "--name", "Kettles", "--domain", "kettle.example", "--domain", "b.example",
		"--currency", "USD", "--charge-currency", "CNY", "--exchange-rate", "7.12", "--rate", "7.5%")
	if p.ID == "" || p.Name != "Kettles" || len(p.Domains) != 2 || p.ClickDays != 30 || p.ExchangeRate != "7.12" || p.Status != "open" {
		t.Errorf("%+v", p)
	}
	m.do(&p, "program", "set", p.ID, "--category", "Home", "--click-days", "7")
	m.do(&p, "program", "close", p.ID)
	if p.Name != "Kettles" || p.Category != "Home" || p.ClickDays != 7 || p.Status != "closed" {
		t.Errorf("%+v", p)
	}
	m.do(&p, "program", "open", p.ID)
	if p.Status != "open" {
		t.Errorf("%+v", p)
	}
	var rates []struct{ Category, Value string }
	m.do(&rates, "program", "rate", "set", p.ID, "3", "--category", "1024")
	if len(rates) != 2 || rates[0].Value != "7.50%" || rates[1].Category != "1024" || rates[1].Value != "3.00" {
		t.Errorf("%+v", rates)
	}
	m.do(&rates, "program", "rate", "remove", p.ID)
	if len(rates) != 1 {
		t.Errorf("%+v", rates)
	}
	var material, left []struct{ ID string }
	made := struct{ ID string }{}
	m.do(&made, "material", "add", p.ID, "--kind", "coupon", "--title", "Ten off", "--body", "TEN", "--target", "https://kettle.example/",
		"--ends", "2027-01-01T00:00:00+08:00")
	m.do(&material, "material", "list", "--program", p.ID)
	m.do(&left, "material", "remove", made.ID)
	if len(material) != 1 || material[0].ID != made.ID || left == nil || len(left) != 0 {
		t.Errorf("%+v, made %+v, left %+v", material, made, left)
	}
	for list, want := range map[string]string{
		"brand list": "Kettle World", "program list": "b.example,kettle.example", "publisher list": "websites", "website list": "publisher",
	} {
		if out := succeed(t, append(append([]string{"network"}, strings.Fields(list)...), "--db", m.db)...); !strings.Contains(out, want) {
			t.Errorf("%s:\n%s", list, out)
		}
	}
}

func TestNetworkCommandErrors(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "network.db")
	succeed(t, "network", "brand", "add", "B", "--db", db)
	succeed(t, "network", "publisher", "add", "P", "--db", db)
	noKeys := filepath.Join(t.TempDir(), "network.db")
	succeed(t, "network", "publisher", "add", "P", "--db", noKeys)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("s3cret", 50)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"publisher add P", 1, `publisher "P": already taken`},
		{"publisher websites Q", 1, `publisher "Q": not there`},
		{"publisher add", 2, "add wants NAME (see orderwire network publisher add --help)"},
		{"publisher remove P", 2, `there is no command "remove"`},
		{"publisher list P", 2, "list takes no argument"},
		{"website add P", 2, "add wants PUBLISHER WEBSITE..."},
		{"key new", 1, `publisher "": not there`},
		{"key new --publisher P --app-key a/b", 2, "AppKey: give 1 to 64 letters"},
		{"key new --publisher P --app-secret file:" + secret, 2, "AppSecret: want at most 255 characters"},
		{"key new --publisher P --app-secret ${NO_SUCH_VARIABLE_HERE}", 2, "NO_SUCH_VARIABLE_HERE is not set"},
		{"key rotate K", 1, "key: not there"},
		{"key rotate K --overlap yesterday", 2, "invalid argument"},
		{"brand key X", 1, `brand "X": not there`},
		{"program add --brand B --name N --domain https://x", 2, "Domains:"},
		{"program add --brand B --name N --domain x --exchange-rate 7,1", 2, "--exchange-rate"},
		{"program close 1", 1, `program "1": not there`},
		{"program rate set 1 5", 1, `program "1": not there`},
		{"program rate set 1 five", 2, "Rate:"},
		{"material add 1 --kind video --starts today", 2, "--starts"},
		{"material remove 1", 1, `material "1": not there`},
		{"key list -o xml", 2, "no output form"},
		{"key list --db " + db + ".none", 2, "there is no file"},
		{"key list --db mysql://u:s3cret@h/db", 2, "no database of this kind"},
		{"key list --db postgres://u:s3cret@127.0.0.1:1/db", 1, "cannot be reached"},
		{"--listen 127.0.0.1:0 --db " + noKeys, 2, "make one with orderwire network publisher add"},
		{"--app-key k", 2, "as many of one as of the other"},
	} {
		args := append([]string{"network", "--db", db}, strings.Fields(tt.args)...)
		out, errs, code := orderwire(t, "", args...)
		if code != tt.code || !strings.Contains(errs, tt.want) || out != "" || strings.Contains(errs, "s3cret") {
			t.Errorf("%s: exit code %d, want %d with %q\n%s%s", tt.args, code, tt.code, tt.want, out, errs)
		}
	}
}
