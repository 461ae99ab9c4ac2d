package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
)

// What is shown of the log and the accounts.
var (
	logUp         = desc("log_up", "Whether the log answers: 1 or 0. When it does not, the other figures are left out.")
	logLast       = desc("log_last_sequence", "Sequence of the newest event in the log.")
	logEvents     = desc("log_events_total", "Events that the log ever took; their rate is what all accounts bring.")
	orders        = desc("orders", "Orders that the pollers of this process know.")
	polls         = desc("account_polls_total", "Complete polls of an account.", "account")
	pollFailures  = desc("account_poll_failures_total", "Polls of an account that failed.", "account")
	lastPoll      = desc("account_last_poll_timestamp_seconds", "End of an account's last complete poll, in Unix time; 0 for none since the start.", "account")
	failing       = desc("account_failing", "Whether an account's last poll failed: 1 or 0.", "account")
	ordersCreated = desc("account_orders_created_total", "Orders of an account that were seen for the first time.", "account")
	ordersChanged = desc("account_orders_changed_total", "Changes of known orders of an account.", "account")
	ordersPushed  = desc("account_orders_pushed_total", "Orders that were fetched because the network pushed them.", "account")
	unchanged     = desc("account_records_unchanged_total", "Records of the network that gave no event.", "account")
	bad           = desc("account_records_bad_total", "Records of the network that went to the dead letters.", "account")
	pollAge       = desc("account_poll_age_seconds", "Time since the end of an account's last complete poll; absent for none since the start.", "account")
	unread        = desc("account_coverage_gap_seconds", "How much of an account's time, from the backfill until now, was not read: its gaps, and the time since the last window.", "account")
	gaps          = desc("account_coverage_gaps", "Gaps in what was read of an account's time; the time since the last window is none.", "account")
	accountDead   = desc("account_dead_letters", "Records of an account in the dead letters.", "account")
)

// What is shown of sinks and endpoints.
var (
	sinkPosition = desc("sink_position", "Sequence of the last event that a sink or an endpoint has settled.", "kind", "sink")
	sinkLag      = desc("sink_lag_events", "Events in the log behind that position.", "kind", "sink")
	sinkFailing  = desc("sink_failing", "Whether a sink or an endpoint reports a failure: 1 or 0.", "kind", "sink")
	sinkEvents   = desc("sink_events_total", "Events that a sink or an endpoint was handed, repeated ones included.", "kind", "sink")
	sinkDead     = desc("sink_dead_letters", "Events of a sink or an endpoint in the dead letters.", "kind", "sink")
	sinkLagAge   = desc("sink_lag_seconds", "Time since the oldest event came into the log that a sink has not settled; 0 when there is none. An archive settles when it closes its files.", "sink")

	oldestAge = desc("webhook_oldest_undelivered_age_seconds",
		"Time since the oldest event came into the log that an endpoint was not delivered, also while it is paused, disabled, broken or throttled; 0 when nothing is owed.", "endpoint")
	parked    = desc("webhook_parked_orders", "Orders whose delivery has failed, and which wait durably.", "endpoint")
	waiting   = desc("webhook_waiting_deliveries", "Deliveries that wait for another attempt, parked orders included.", "endpoint")
	attempts  = desc("webhook_attempts_total", "Attempts to deliver an event, by their outcome.", "endpoint", "outcome")
	rateLimit = desc("webhook_rate_limit", "Attempts a second that an endpoint may have at present; 0 means no limit.", "endpoint")
	up        = desc("webhook_up", "Whether an endpoint gets deliveries: 0 when it is paused, disabled or broken.", "endpoint")
	state     = desc("webhook_state", "State of an endpoint: 1 for the one that it is in.", "endpoint", "state")
)

// picture is a status as metrics.
type picture struct {
	line.Status
	known bool
}

// Describe implements [prometheus.Collector].
func (p *picture) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		logUp, logLast, logEvents, orders, polls, pollFailures, lastPoll, failing, ordersCreated, ordersChanged, ordersPushed, unchanged, bad,
		pollAge, unread, gaps, accountDead, sinkPosition, sinkLag, sinkFailing, sinkEvents, sinkDead, sinkLagAge, oldestAge, parked, waiting, attempts, rateLimit, up, state,
	} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (p *picture) Collect(ch chan<- prometheus.Metric) {
	out := emitter(ch)
	out.gauge(logUp, truth(p.known))
	if !p.known {
		return
	}
	out.gauge(logLast, float64(p.Last))
	out.count(logEvents, float64(p.Last))
	out.gauge(orders, float64(p.Orders))
	for i := range p.Accounts {
		if a := &p.Accounts[i]; !a.Standby {
			out.account(a, p.At)
		}
	}
	for i := range p.Sinks {
		if s := &p.Sinks[i]; !s.Standby {
			out.sink(s, p.At)
		}
	}
}

// emitter hands metrics over.
type emitter chan<- prometheus.Metric

func (e emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (e emitter) count(d *prometheus.Desc, v float64, labels ...string) {
	e <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func (e emitter) account(a *line.Account, now time.Time) {
	e.count(polls, float64(a.Polls), a.Name)
	e.count(pollFailures, float64(a.Failures), a.Name)
	e.count(ordersCreated, float64(a.Created), a.Name)
	e.count(ordersChanged, float64(a.Changed), a.Name)
	e.count(ordersPushed, float64(a.Pushed), a.Name)
	e.count(unchanged, float64(a.Unchanged), a.Name)
	e.count(bad, float64(a.Bad), a.Name)
	e.gauge(lastPoll, seconds(a.LastPoll), a.Name)
	e.gauge(failing, truth(a.Failure != ""), a.Name)
	if !a.LastPoll.IsZero() {
		e.gauge(pollAge, age(a.LastPoll, now), a.Name)
	}
	e.gauge(unread, a.Coverage.Unread, a.Name)
	e.gauge(gaps, float64(len(a.Coverage.Gaps)), a.Name)
	e.gauge(accountDead, float64(a.DeadLetters), a.Name)
}

// age is the time since a moment in seconds, 0 for the zero time.
func age(at, now time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(0, now.Sub(at).Seconds())
}

func (e emitter) sink(s *line.Sink, now time.Time) {
	e.gauge(sinkFailing, truth(s.Failure != ""), s.Kind, s.Name)
	e.gauge(sinkDead, float64(s.DeadLetters), s.Kind, s.Name)
	if s.Idle() {
		return // how far it is, is not known
	}
	e.gauge(sinkPosition, float64(s.Position), s.Kind, s.Name)
	e.gauge(sinkLag, float64(s.Lag), s.Kind, s.Name)
	e.count(sinkEvents, float64(s.Taken), s.Kind, s.Name)
	if s.Delivery != nil {
		e.endpoint(s.Name, s.Delivery, now)
		return
	}
	e.gauge(sinkLagAge, age(s.Oldest, now), s.Name)
}

func (e emitter) endpoint(name string, d *line.Delivery, now time.Time) {
	e.gauge(oldestAge, age(d.Oldest, now), name)
	e.gauge(parked, float64(d.Parked), name)
	e.gauge(waiting, float64(d.Waiting), name)
	e.gauge(rateLimit, d.Rate, name)
	e.count(attempts, float64(d.Attempts.Delivered), name, "delivered")
	e.count(attempts, float64(d.Attempts.Failed), name, "failed")
	e.count(attempts, float64(d.Attempts.GivenUp), name, "given_up")
	e.gauge(up, truth(d.State == line.Active), name)
	for _, s := range line.States() {
		e.gauge(state, truth(d.State == s), name, string(s))
	}
}

func truth(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

// seconds is a time in Unix seconds, 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
