package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/openapi"
)

// The simulated network counts clicks; the report lays them beside the books, whose
// orders are those that the network counts.
func TestReportClicks(t *testing.T) {
	t.Parallel()
	var deaf atomic.Bool
	w := newWorld(t, worldConfig{orders: 120, handler: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if deaf.Load() && strings.HasSuffix(r.URL.Path, openapi.ServiceStatistics) {
				_, _ = io.WriteString(rw, `{"Status":40402,"Message":"no such service"}`)
				return
			}
			next.ServeHTTP(rw, r)
		})
	}})
	succeed(t, "run", "-c", w.config, "--once")
	from, to := time.Now().AddDate(0, 0, -33).Format(time.DateOnly), time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	client, err := openapi.NewClient(openapi.Config{BaseURL: w.server.URL, AppKey: testKey, AppSecret: testSecret, RequestsPerSecond: -1})
	if err != nil {
		t.Fatal(err)
	}
	counted, err := client.Statistics(t.Context(), openapi.StatisticsQuery{From: from, To: to, Group: []string{"ProgramId", "SubId"}})
	if err != nil {
		t.Fatal(err)
	}
	type sum struct{ clicks, orders int64 }
	want, got := map[string]sum{}, map[string]sum{}
	for _, s := range counted {
		key := s.ProgramID + "/" + s.SubID
		want[key] = sum{want[key].clicks + s.Clicks, want[key].orders + s.Orders}
	}
	var rows []struct {
		Group          []string
		Clicks, Orders int64
		EPC            string
		Rate           string `json:"conversion_rate"`
	}
	out := succeed(t, "report", "clicks", "-c", w.config, "-o", "json", "--by", "program,sub_id", "--from", from, "--to", to)
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		key := strings.Join(r.Group, "/")
		got[key] = sum{r.Clicks, got[key].orders + r.Orders} // two rows of one group have the same clicks
		if r.EPC == "" || r.Rate == "" {
			t.Errorf("%s: no rate or EPC: %+v", key, r)
		}
	}
	var all sum
	for key, n := range want {
		if got[key] != n || n.clicks < n.orders {
			t.Errorf("%s: %+v, want %+v", key, got[key], n)
		}
		all = sum{all.clicks + n.clicks, all.orders + n.orders}
	}
	if len(got) != len(want) || all.orders != 120 || all.clicks < 120*10 {
		t.Errorf("%d groups, want %d; %+v", len(got), len(want), all)
	}
	if out := succeed(t, "report", "clicks", "-c", w.config); !strings.Contains(out, "conversion_rate") || strings.Count(out, "\n") < 20 {
		t.Errorf("by day:\n%s", out)
	}
	deaf.Store(true)
	if _, errs, code := orderwire(t, "", "report", "clicks", "-c", w.config); code != 1 || !strings.Contains(errs, "account main: the network gives no clicks") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
