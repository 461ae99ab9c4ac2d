package metrics_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/metrics"
)

// fixed is a source with one answer.
type fixed struct {
	status line.Status
	err    error
}

func (f fixed) Status(context.Context) (line.Status, error) { return f.status, f.err }

var at = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)

// sample has something of each kind.
func sample() line.Status {
	return line.Status{
		At: at, Last: 500, Orders: 120,
		Accounts: []line.Account{
			{
				Name: "main", Polls: 3, Created: 120, Changed: 380, Failures: 2, LastPoll: at.Add(-time.Minute), Failure: "no answer", DeadLetters: 3,
				Coverage: line.Coverage{Gaps: []line.Gap{{From: at, Until: at}}, Unread: 3660.5},
			},
			{Name: "new"},
			{Name: "elsewhere", Work: line.Work{Standby: true}},
		},
		Sinks: []line.Sink{
			{Kind: "sink", Name: "archive", Position: 400, Lag: 100, Oldest: at.Add(-7 * time.Minute), Taken: 480},
			{Kind: "sink", Name: "commission", Closed: true, Failure: "disk full", DeadLetters: 1},
			{Kind: "endpoint", Name: "archive", Position: 450, Lag: 50, Taken: 450, Delivery: &line.Delivery{
				State: line.Broken, Parked: 7, Waiting: 9, Oldest: at.Add(-90 * time.Second), Rate: 12.5, Attempts: line.Attempts{Delivered: 450, Failed: 31, GivenUp: 4},
			}},
			{Kind: "endpoint", Name: "done", Position: 500, Delivery: &line.Delivery{State: line.Active}},
			{Kind: "endpoint", Name: "elsewhere", Work: line.Work{Standby: true, Holder: "b"}},
		},
	}
}

func scrape(tb testing.TB, src metrics.Source) string {
	tb.Helper()
	rec := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/metrics", http.NoBody)
	metrics.Handler(src, slog.New(slog.DiscardHandler)).ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		tb.Fatalf("HTTP %d: %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func TestFigures(t *testing.T) {
	t.Parallel()
	text := scrape(t, fixed{status: sample()})
	for _, want := range []string{
		"orderwire_log_up 1", "orderwire_log_last_sequence 500", "orderwire_orders 120",
		`orderwire_account_polls_total{account="main"} 3`, `orderwire_account_poll_failures_total{account="main"} 2`,
		`orderwire_account_last_poll_timestamp_seconds{account="main"} 1.79351994e+09`, `orderwire_account_failing{account="main"} 1`,
		`orderwire_account_orders_created_total{account="main"} 120`, `orderwire_account_orders_changed_total{account="main"} 380`,
		`orderwire_sink_lag_events{kind="sink",sink="archive"} 100`, `orderwire_sink_position{kind="endpoint",sink="archive"} 450`,
		`orderwire_sink_failing{kind="sink",sink="commission"} 1`, `orderwire_sink_dead_letters{kind="sink",sink="commission"} 1`,
		"orderwire_log_events_total 500", `orderwire_sink_events_total{kind="sink",sink="archive"} 480`, `orderwire_sink_events_total{kind="endpoint",sink="archive"} 450`,
		`orderwire_sink_lag_seconds{sink="archive"} 420`, `orderwire_sink_dead_letters{kind="endpoint",sink="done"} 0`,
		`orderwire_account_poll_age_seconds{account="main"} 60`, `orderwire_account_coverage_gap_seconds{account="main"} 3660.5`,
		`orderwire_account_coverage_gaps{account="main"} 1`, `orderwire_account_dead_letters{account="main"} 3`, `orderwire_account_polls_total{account="new"} 0`,
		`orderwire_webhook_oldest_undelivered_age_seconds{endpoint="archive"} 90`,
		`orderwire_webhook_oldest_undelivered_age_seconds{endpoint="done"} 0`,
		`orderwire_webhook_parked_orders{endpoint="archive"} 7`, `orderwire_webhook_waiting_deliveries{endpoint="archive"} 9`,
		`orderwire_webhook_attempts_total{endpoint="archive",outcome="delivered"} 450`,
		`orderwire_webhook_attempts_total{endpoint="archive",outcome="failed"} 31`,
		`orderwire_webhook_attempts_total{endpoint="archive",outcome="given_up"} 4`,
		`orderwire_webhook_rate_limit{endpoint="archive"} 12.5`, `orderwire_webhook_up{endpoint="archive"} 0`, `orderwire_webhook_up{endpoint="done"} 1`,
		`orderwire_webhook_state{endpoint="archive",state="broken"} 1`, `orderwire_webhook_state{endpoint="archive",state="active"} 0`,
		`orderwire_webhook_state{endpoint="done",state="active"} 1`, "go_goroutines ", "process_start_time_seconds ", "orderwire_build_info{",
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s", want)
		}
	}
	for _, wrong := range []string{`"elsewhere"`, `orderwire_sink_lag_events{kind="sink",sink="commission"}`, `orderwire_account_poll_age_seconds{account="new"}`} {
		if strings.Contains(text, wrong) {
			t.Errorf("%s is exported, of which this process knows nothing", wrong)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// Names, units and texts follow the conventions of Prometheus.
func TestConventions(t *testing.T) {
	t.Parallel()
	problems, err := promlint.New(strings.NewReader(scrape(t, fixed{status: sample()}))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "orderwire_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestLogThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	text := scrape(t, fixed{err: errors.New("no servers")})
	if !strings.Contains(text, "\norderwire_log_up 0") || !strings.Contains(text, "\ngo_goroutines ") {
		t.Errorf("%s", text)
	}
	if strings.Contains(text, "orderwire_log_last_sequence") || strings.Contains(text, "orderwire_webhook") {
		t.Errorf("figures without a log:\n%s", text)
	}
}

var (
	metricName = regexp.MustCompile(`\b(?:orderwire|process|go)_[a-z_]+\b`)
	selector   = regexp.MustCompile(`(orderwire_[a-z_]+)\{([a-z]+)="([a-z]+)"\}`)
)

// Every alert is complete, and names only metrics and labels that are exported.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				For         string            `yaml:"for"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.UnmarshalWithOptions(raw, &file, yaml.DisallowUnknownField()); err != nil {
		t.Fatal(err)
	}
	text := scrape(t, fixed{status: disabled()})
	seen := make(map[string]bool)
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			if _, err := time.ParseDuration(r.For); err != nil && r.For != "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" ||
				r.Annotations["description"] == "" || seen[r.Alert] || strings.Count(r.Expr, "(") != strings.Count(r.Expr, ")") {
				t.Errorf("alert %q is incomplete or stands twice: %+v", r.Alert, r)
			}
			seen[r.Alert] = true
			names := metricName.FindAllString(r.Expr, -1)
			if len(names) == 0 {
				t.Errorf("alert %s asks for nothing", r.Alert)
			}
			for _, name := range names {
				if !strings.Contains(text, "\n# TYPE "+name+" ") {
					t.Errorf("alert %s: there is no metric %s", r.Alert, name)
				}
			}
			for _, s := range selector.FindAllStringSubmatch(r.Expr, -1) {
				if !regexp.MustCompile(s[1] + `\{[^}]*` + s[2] + `="` + s[3] + `"`).MatchString(text) {
					t.Errorf("alert %s: nothing has %s", r.Alert, s[0])
				}
			}
		}
	}
	if len(seen) < 4 {
		t.Errorf("%d alerts", len(seen))
	}
}

// disabled is sample with an endpoint that a person has to resume.
func disabled() line.Status {
	s := sample()
	s.Sinks[3].Delivery.State = line.Disabled
	return s
}
