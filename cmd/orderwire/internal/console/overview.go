package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
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
	Pace      *paceChart
	Sinks     table
	Endpoints table
	Accounts  table
}

// tile is a figure with its name.
type tile struct{ Name, Figure, Note, Href string }

func (c *console) overview(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	s, err := c.Line.Status(ctx)
	if err != nil {
		return err
	}
	k := c.clock(r)
	known, _ := c.covering(r)
	o := overview{Sinks: sinkTable(&s), Endpoints: endpointTable(&s, k), Accounts: accountTable(&s, known, k)}
	if o.Pace, err = c.pace.look(ctx, k, s.Last); err != nil {
		c.Logger.Warn("the events by minute cannot be counted", "error", err)
	}
	sums, err := c.sums(ctx, k.now)
	if err != nil {
		o.NoBooks = err.Error()
	}
	o.Charts = chartsOf(sums, firstDay(k.now))
	if sent, err := o.file(w, r); sent || err != nil {
		return err
	}
	o.Attention = c.attention(ctx, &s, known, k)
	o.tile(&s, k.now)
	c.show(w, r, http.StatusOK, "overview", page{Title: "Overview", At: "Overview", Body: o})
	return nil
}

// file sorts the tables, and sends the one that a request wants as a file.
func (o *overview) file(w http.ResponseWriter, r *http.Request) (sent bool, err error) {
	tables := map[string]*table{"sinks": &o.Sinks, "endpoints": &o.Endpoints, "accounts": &o.Accounts}
	if o.Pace != nil {
		tables["minutes"] = &o.Pace.Table
	}
	for name, t := range tables {
		t.sort(r)
		if wants(r, t) {
			return true, writeFile(w, r, name, t)
		}
		t.Export = exportOf(r, t.ID)
	}
	if asFile(r) {
		t := daysTable(o.Charts)
		return true, writeFile(w, r, "commission-by-day", &t)
	}
	return false, nil
}

// sums returns those of the last days. Days to come count too: an account's zone
// may be ahead.
func (c *console) sums(ctx context.Context, now time.Time) ([]commission.Sum, error) {
	books, err := c.Books(ctx)
	if err != nil {
		return nil, err
	}
	return books.Report(ctx, commission.Filter{From: firstDay(now)})
}

// firstDay is the first day of the chart.
func firstDay(now time.Time) string {
	return now.UTC().AddDate(0, 0, 1-chartDays).Format(time.DateOnly)
}

func (o *overview) tile(s *line.Status, now time.Time) {
	o.Tiles = []tile{{Name: "Newest event", Figure: humanize.Comma(int64(s.Last)), Note: "in the log"}}
	if o.Pace != nil {
		o.Tiles = append(o.Tiles, tile{Name: "Events", Figure: o.Pace.Now, Note: "in the last whole minute"})
	}
	o.Tiles = append(o.Tiles, tile{Name: "Orders", Figure: humanize.Comma(int64(s.Orders)), Note: "known here", Href: "/orders"})
	for i := range o.Charts {
		c := &o.Charts[i]
		href := drill{"from": {firstDay(now)}, "currency": {c.Currency}}.href()
		o.Tiles = append(o.Tiles, tile{"Commission " + c.Currency, c.Total, fmt.Sprintf("of %s in %d days", plural(uint64(c.Orders), "order"), chartDays), href})
	}
}

func sinkTable(s *line.Status) table {
	t := table{ID: "sinks", Caption: "Sinks", Head: columns("Sink", "State", "#Position", "#Events behind"), Empty: "This process runs no sinks."}
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

func endpointTable(s *line.Status, k clock) table {
	t := table{ID: "endpoints", Caption: "Webhooks", Head: columns("Endpoint", "State", "#Events behind", "Oldest undelivered", "#Parked orders", "#Waiting"), Empty: noEndpoints}
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
				row[3] = k.ago(d.Oldest, "")
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

// count shows a number with commas.
func count(n uint64) cell {
	return cell{Text: humanize.Comma(int64(n)), Value: strconv.FormatUint(n, 10), Number: true}
}

// relative says how long ago a moment was.
func relative(at, now time.Time) string { return humanize.RelTime(at, now, "ago", "from now") }
