package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
)

// bookedOrders makes books of three orders, in two currencies and months, and
// returns the configuration file beside them.
func bookedOrders(t *testing.T) (config string) {
	t.Helper()
	dir := t.TempDir()
	config = filepath.Join(dir, "orderwire.yaml")
	text := "data_dir: " + dir + "\naccounts: [{name: main, base_url: 'http://127.0.0.1:1', app_key: k, app_secret: s}]\ncommission: {time_zone: Asia/Shanghai}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var batch []schema.Entry
	for i, e := range []struct {
		sn, status string
		version    uint64
		seen       string
	}{{"a", "0", 1, "2026-03-05"}, {"b", "1", 1, "2026-03-06"}, {"c", "0", 1, "2026-03-31"}, {"c", "-1", 2, "2026-04-02"}} {
		at, err := time.Parse(time.DateOnly, e.seen)
		if err != nil {
			t.Fatal(err)
		}
		cents, text := schema.MoneyFromCents, schema.NewText
		batch = append(batch, schema.Entry{Sequence: uint64(i + 1), Event: schema.NewEvent(schema.StatusChanged, schema.Data{
			Account: "main", TimeZone: "UTC", Version: e.version, ObservedAt: at, Order: schema.Order{
				ProgramID: text("77"), OrderSn: text(e.sn), SubID: text("s-" + e.sn), OrderTime: text("2026-03-01 10:00:00"), Status: text(e.status),
				OrdersPrice: cents(10_000), SiterCommission: cents(500), Currency: text("CNY"),
				ConfirmPrice: cents(1400), ConfirmSiterCommission: cents(70), ChargeCurrency: text("USD"),
			},
		})})
	}
	books, err := commission.Open(t.Context(), filepath.Join(dir, "commission.db"))
	if err == nil {
		err = books.Write(t.Context(), batch)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := books.Close(); err != nil {
		t.Fatal(err)
	}
	return config
}

func TestReports(t *testing.T) {
	t.Parallel()
	config := bookedOrders(t)
	rates := filepath.Join(t.TempDir(), "rates.csv")
	if err := os.WriteFile(rates, []byte("date,from,to,rate\n2026-03-01,CNY,EUR,0.13\n2026-02-27,USD,EUR,0.9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                                    "account,program,website,sub_id,day,status,currency,orders,order_amount,commission\nmain,77,,s-a,2026-03-01,Pending,CNY,1,100.00,5.00\n",
		"earnings --status 1":                 "\nmain,77,,s-b,2026-03-01,Confirmed,USD,1,14.00,0.70\n",
		"--by month,status":                   "month,status,currency,orders,order_amount,commission\n2026-03,-1,CNY,1,100.00,0.00\n2026-03,0,CNY,1,100.00,5.00\n2026-03,1,USD,1,14.00,0.70\n",
		"--by day --day posting --sub-id s-c": "day,currency,orders,order_amount,commission\n2026-03-31,CNY,1,100.00,5.00\n2026-04-02,CNY,0,0.00,-5.00\n",
		"--by program --currency EUR --rates " + rates: "program,currency,orders,order_amount,commission\n77,EUR,3,38.60,1.28\n",
		"sub-ids":                   "sub_id,status,currency,orders,order_amount,commission\ns-a,0,CNY,1,100.00,5.00\n",
		"statement --month 2026-04": "main,CNY,estimated,10.00,-5.00,5.00\nmain,CNY,reversed,0.00,5.00,5.00\n",
		"ageing --on 2026-04-01":    "account,program,currency,days,orders,order_amount,commission\nmain,77,CNY,31-60,1,100.00,5.00\n",
		"reversals":                 "main,77,3,1,1,0.5000,0,,,\n",
		"estimated-vs-confirmed":    "main,77,CNY,USD,1,100.00,5.00,14.00,0.70,0.140000\n",
		"conversions":               "main,77,CNY,USD,1,100.00,5.00,14.00,0.70,0.140000\n",
		"overdue":                   "account,program,order_sn,sub_id,day,days,usual_days,currency,commission\n",
	} {
		all := append([]string{"report"}, strings.Fields(args)...)
		if out := succeed(t, append(all, "-c", config, "-o", "csv")...); !strings.Contains(out, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", args, out, want)
		}
		var v any
		if err := json.Unmarshal([]byte(succeed(t, append(all, "-c", config, "-o", "json")...)), &v); err != nil || v == nil {
			t.Errorf("%s: %v, %v", args, v, err)
		}
	}
}

// The rates of the configuration serve --in; --rates stands in their place.
func TestReportRates(t *testing.T) {
	t.Parallel()
	file := bookedOrders(t)
	if _, errs, code := orderwire(t, "", "report", "--in", "EUR", "-c", file); code != 2 || !strings.Contains(errs, "commission.rates") {
		t.Errorf("without rates: exit code %d: %s", code, errs)
	}
	rates := filepath.Join(t.TempDir(), "rates.csv")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(raw), "commission: {", "commission: {rates: "+rates+", ", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := orderwire(t, "", "report", "-c", file); code != 2 || !strings.Contains(errs, "commission.rates: cannot be read") {
		t.Errorf("rates that are not there: exit code %d: %s", code, errs)
	}
	for _, tt := range []struct{ rates, args, want string }{
		{"2026-03-01,CNY,EUR,0.13\n2026-03-01,USD,EUR,0.9\n", "--in EUR --by program", "77,EUR,3,38.60,1.28\n"},
		{"2026-03-01,CNY,EUR,0.13\n2026-03-01,USD,EUR,0.9\n", "--in EUR --currency USD --by program", "77,EUR,1,12.60,0.63\n"},
		{"2026-03-01,USD,EUR,0.9\n", "--in EUR", "no rate from CNY to EUR for 2026-03-01"},
		{"2026-03-01,USD,EUR\n", "sub-ids --in EUR", "commission.rates: rates: line 1: is not date,from,to,rate"},
	} {
		if err := os.WriteFile(rates, []byte(tt.rates), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, _ := orderwire(t, "", append(append([]string{"report"}, strings.Fields(tt.args)...), "-c", file, "-o", "csv")...)
		if !strings.Contains(out+errs, tt.want) {
			t.Errorf("%s: %s%s, want %s", tt.args, out, errs, tt.want)
		}
	}
}

func TestReportClose(t *testing.T) {
	t.Parallel()
	config := bookedOrders(t)
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"statement --month 2026-03 --check", 1, "month 2026-03 was not closed"},
		{"close 2026-04", 1, "cannot be closed before 2026-03; close that first"},
		{"close 2026-03", 0, "2026-03 is closed: 3 transactions, SHA-256 "},
		{"close 2026-03", 1, "every month up to 2026-03 is"},
		{"close 2999-01", 1, "has not ended; close it after 2999-02-01T00:00:00+08:00"},
		{"close", 2, "name one month"},
		{"close March", 2, "is no month"},
		{"statement --month 2026-03 --check -o csv", 0, "month,closed_at,transactions,sha256\n2026-03,"},
		{"statement --month 2026-03 -o json", 0, `"closed": true`},
		{"statement --month x", 2, "is no month"},
		{"--by colour", 2, "cannot be colour"},
		{"--rates none.csv", 2, "--rates needs --currency"},
		{"--rates none.csv --currency EUR", 2, "none.csv"},
		{"--rates " + config + " --currency EUR", 2, "rates: line 1: is not date,from,to,rate"},
		{"--rates /dev/null --currency EUR", 1, "no rate from CNY to EUR for 2026-03-01 or the 7 days before"},
		{"ageing --on today", 2, "is no day"},
	} {
		out, errs, code := orderwire(t, "", append(append([]string{"report"}, strings.Fields(tt.args)...), "-c", config)...)
		if code != tt.code || !strings.Contains(out+errs, tt.want) {
			t.Errorf("%s: exit code %d: %s%s, want %d: %s", tt.args, code, out, errs, tt.code, tt.want)
		}
	}
	none := strings.ReplaceAll(config, "orderwire.yaml", "none.yaml")
	if err := os.WriteFile(none, []byte("data_dir: "+filepath.Dir(config)+"/none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, code := orderwire(t, "", "report", "close", "2026-03", "-c", none)
	if _, err := os.Stat(filepath.Join(filepath.Dir(config), "none")); code != 1 || !strings.Contains(errs, "start that first") || err == nil {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
