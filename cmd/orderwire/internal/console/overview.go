package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/sinks/commission"
)

// chartDays is how many days the chart shows.
const chartDays = 31

// overview is what the first page shows.
type overview struct {
	Tiles     []tile
	Attention []remark
	Charts    []chart
	NoBooks   string // why there are no charts, "" when there are
	Sinks     table
	Endpoints table
	Accounts  table
}

// tile is a figure with its name.
type tile struct{ Name, Figure, Note string }

func (c *console) overview(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	s, err := c.Line.Status(ctx)
	if err != nil {
		return err
	}
	now := c.now()
	o := overview{Sinks: sinkTable(&s), Endpoints: endpointTable(&s, now), Accounts: accountTable(&s, now)}
	for name, t := range map[string]*table{"sinks": &o.Sinks, "endpoints": &o.Endpoints, "accounts": &o.Accounts} {
		t.Export = "/?" + url.Values{"format": {"csv"}, "table": {name}}.Encode()
		if asCSV(r) && r.URL.Query().Get("table") == name {
			return writeCSV(w, name, t)
		}
	}
	sums, err := c.sums(ctx, now)
	if err != nil {
		o.NoBooks = err.Error()
	}
	o.Charts = chartsOf(sums)
	if t := daysTable(o.Charts); asCSV(r) {
		return writeCSV(w, "commission-by-day", &t)
	}
	o.Attention = c.attention(ctx, &s, now)
	o.Tiles = tiles(&s, o.Charts)
	c.show(w, r, http.StatusOK, "overview", page{Title: "Overview", At: "Overview", Body: o})
	return nil
}

// sums returns those of the last days. Days to come count too: an account's zone
// may be ahead.
func (c *console) sums(ctx context.Context, now time.Time) ([]commission.Sum, error) {
	books, err := c.Books(ctx)
	if err != nil {
		return nil, err
	}
	return books.Report(ctx, commission.Filter{From: now.UTC().AddDate(0, 0, 1-chartDays).Format(time.DateOnly)})
}

func tiles(s *line.Status, charts []chart) []tile {
	all := []tile{{"Newest event", humanize.Comma(int64(s.Last)), "in the log"}, {"Orders", humanize.Comma(int64(s.Orders)), "known here"}}
	for i := range charts {
		all = append(all, tile{"Commission " + charts[i].Currency, charts[i].Total, fmt.Sprintf("of %s orders in %d days", humanize.Comma(charts[i].Orders), chartDays)})
	}
	return all
}

func sinkTable(s *line.Status) table {
	t := table{Caption: "Sinks", Head: columns("Sink", "State", "#Position", "#Events behind"), Empty: "This process runs no sinks."}
	for i := range s.Sinks {
		sink := &s.Sinks[i]
		if sink.Delivery == nil && sink.Kind != "endpoint" {
			t.Rows = append(t.Rows, []cell{text(sink.Name), sinkState(sink), count(sink.Position), count(sink.Lag)})
		}
	}
	return t
}

func sinkState(s *line.Sink) cell {
	switch {
	case s.Standby:
		return cell{Text: "standby", Badge: "idle", Title: "process " + s.Holder + " does the work"}
	case s.Closed:
		return cell{Text: "cannot be opened", Badge: "bad", Title: s.Failure}
	case s.Failure != "":
		return cell{Text: "fails", Badge: "bad", Title: s.Failure}
	default:
		return cell{Text: "works", Badge: "good"}
	}
}

func endpointTable(s *line.Status, now time.Time) table {
	t := table{Caption: "Webhooks", Head: columns("Endpoint", "State", "#Events behind", "Oldest undelivered", "#Parked orders", "#Waiting"), Empty: "There are no endpoints."}
	for i := range s.Sinks {
		sink := &s.Sinks[i]
		if sink.Kind != "endpoint" {
			continue
		}
		row := []cell{{Text: sink.Name, Href: endpointPath(sink.Name)}, sinkState(sink), count(sink.Lag), text("–"), number(""), number("")}
		if d := sink.Delivery; d != nil {
			row[4], row[5] = count(uint64(d.Parked)), count(uint64(d.Waiting))
			if d.State != line.Active || sink.Failure == "" {
				row[1] = stateCell(string(d.State), d.Reason)
			}
			if !d.Oldest.IsZero() {
				row[3] = ago(d.Oldest, now)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func endpointPath(name string) string { return "/webhooks/" + url.PathEscape(name) }

// stateCell shows the state of an endpoint.
func stateCell(state, reason string) cell {
	badge := "bad"
	switch state {
	case "active":
		badge = "good"
	case "paused":
		badge = "warn"
	}
	return cell{Text: state, Badge: badge, Title: reason}
}

func accountTable(s *line.Status, now time.Time) table {
	t := table{
		Caption: "Accounts", Head: columns("Account", "State", "Last poll", "#Polls", "#Failed polls", "#Created", "#Changed"),
		Empty: "This process polls no accounts.",
	}
	for i := range s.Accounts {
		a := &s.Accounts[i]
		state, last := cell{Text: "polls", Badge: "good"}, text("–")
		switch {
		case a.Standby:
			state = cell{Text: "standby", Badge: "idle", Title: "process " + a.Holder + " does the work"}
		case a.Failure != "":
			state = cell{Text: "fails", Badge: "bad", Title: a.Failure}
		}
		if !a.LastPoll.IsZero() {
			last = ago(a.LastPoll, now)
		}
		t.Rows = append(t.Rows, []cell{
			text(a.Name), state, last, count(uint64(a.Polls)), count(uint64(a.Failures)), count(uint64(a.Created)), count(uint64(a.Changed)),
		})
	}
	return t
}

func count(n uint64) cell { return number(humanize.Comma(int64(n))) }

// ago shows how long ago a moment was.
func ago(at, now time.Time) cell {
	return cell{Text: humanize.RelTime(at, now, "ago", "from now"), Time: at.UTC().Format(time.RFC3339), Title: at.UTC().Format(time.DateTime) + " UTC"}
}
