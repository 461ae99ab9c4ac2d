package console

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
)

// lateAfter is how old the oldest undelivered event of an active endpoint may be
// before that needs attention.
const lateAfter = 10 * time.Minute

// remark is something that needs a person's attention.
type remark struct{ What, Why, Href string }

// attention lists what needs it: the line's own failures first.
func (c *console) attention(ctx context.Context, s *line.Status, known map[string]covered, k clock) []remark {
	var all []remark
	for i := range s.Accounts {
		if a := &s.Accounts[i]; a.Failure != "" {
			all = append(all, remark{"Account " + a.Name + " cannot be polled", a.Failure, "/accounts"})
		}
	}
	for _, name := range names(known) {
		a := known[name]
		if gaps := a.gaps(); len(gaps) > 0 {
			newest := gaps[len(gaps)-1]
			why := "the newest from " + k.at(newest.from, name).Text + " to " + k.at(newest.to, name).Text
			all = append(all, remark{"Account " + name + " has " + plural(uint64(len(gaps)), "gap") + " in what was read", why, "/accounts#gaps"})
		}
	}
	for i := range s.Sinks {
		all = append(all, sinkRemarks(&s.Sinks[i], k.now)...)
	}
	if c.shelf != nil {
		if n := c.shelf.faults(ctx); n > 0 {
			all = append(all, remark{"The last verification of the archive found faults", plural(uint64(n), "finding"), "/archive"})
		}
	}
	for i := range s.Sinks {
		name := s.Sinks[i].Name
		dead, err := c.Log.CountDead(ctx, name)
		if err != nil {
			c.Logger.Warn("dead letters cannot be counted", "sink", name, "error", err)
			continue
		}
		if dead > 0 {
			what := fmt.Sprintf("%s has %s in the dead letters", name, plural(dead, "event"))
			all = append(all, remark{what, "given up after the last attempt", "/deadletters?" + url.Values{"sink": {name}}.Encode()})
		}
	}
	return all
}

func sinkRemarks(s *line.Sink, now time.Time) (all []remark) {
	href := ""
	if s.Kind == "endpoint" {
		href = endpointPath(s.Name)
	}
	what := "Sink " + s.Name
	if href != "" {
		what = "Endpoint " + s.Name
	}
	d := s.Delivery
	switch {
	case d != nil && d.State == line.Broken:
		all = append(all, remark{what + " is broken", "every delivery fails; it is probed", href})
	case d != nil && d.State != line.Active:
		all = append(all, remark{what + " is " + string(d.State), d.Reason, href})
	case s.Failure != "":
		all = append(all, remark{what + " fails", s.Failure, href})
	case d != nil && !d.Oldest.IsZero() && now.Sub(d.Oldest) > lateAfter:
		all = append(all, remark{what + " is late", "its oldest undelivered event came " + relative(d.Oldest, now), href})
	}
	return all
}

func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return humanize.Comma(int64(n)) + " " + what + "s"
}
