package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
)

// accountsPage is how the accounts are polled, and what of their time was read.
type accountsPage struct {
	Reading  string // what is missing of the coverage, "" for nothing
	Accounts table
	Bars     []coverageBar
	Gaps     table
	Pager    pager
}

// coverageBar is the picture of an account's last days.
type coverageBar struct {
	Account, Summary string
	Parts            []bar
	Labels           []label
}

func (c *console) accounts(w http.ResponseWriter, r *http.Request) error {
	s, err := c.Line.Status(r.Context())
	if err != nil {
		return err
	}
	k := c.clock(r)
	p := &accountsPage{}
	known, reading := c.covering(r)
	p.Reading = reading
	p.Accounts = accountTable(&s, known, k)
	p.Gaps = gapTable(known, k)
	for name, t := range map[string]*table{"accounts": &p.Accounts, "gaps": &p.Gaps} {
		t.sort(r)
		if wants(r, t) {
			return writeFile(w, r, name, t)
		}
		t.Export = exportOf(r, t.ID)
	}
	p.Pager = p.Gaps.paged(r, "gap")
	for _, name := range names(known) {
		a := known[name]
		p.Bars = append(p.Bars, drawCoverage(name, &a, k))
	}
	c.show(w, r, http.StatusOK, "accounts", page{Title: "Accounts", At: "Accounts", Body: p})
	return nil
}

// covering returns what is known of closed windows, and what is missing of it.
func (c *console) covering(r *http.Request) (map[string]covered, string) {
	known, whole, err := c.coverage.look(r.Context())
	switch {
	case err != nil:
		c.Logger.Warn("the coverage cannot be read", "error", err)
		return known, "The windows that were read cannot be shown at present: " + err.Error()
	case !whole:
		return known, "The windows that were read are being loaded for the first time; what is shown is not all of it."
	}
	return known, ""
}

func names(known map[string]covered) []string {
	all := make([]string, 0, len(known))
	for name := range known {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// accountTable has the accounts of this process, and those of others that the log
// knows windows of.
func accountTable(s *line.Status, known map[string]covered, k clock) table {
	t := table{
		ID: "accounts", Caption: "Accounts", Empty: "This process polls no accounts.",
		Head: columns("Account", "State", "Last poll", "Covered from", "Covered until", "#Gaps", "#Polls", "#Failed polls", "#Created", "#Changed"),
	}
	here := map[string]bool{}
	for i := range s.Accounts {
		a := &s.Accounts[i]
		here[a.Name] = true
		state := cell{Text: "polls", Badge: "good"}
		switch {
		case a.Standby:
			state = cell{Text: "standby", Badge: "idle", Title: "process " + a.Holder + " does the work"}
		case a.Failure != "":
			state = cell{Text: "fails", Badge: "bad", Title: a.Failure}
		}
		row := []cell{text(a.Name), state, k.ago(a.LastPoll, a.Name)}
		row = append(row, coveredCells(known, a.Name, k)...)
		t.Rows = append(t.Rows, append(row, count(uint64(a.Polls)), count(uint64(a.Failures)), count(uint64(a.Created)), count(uint64(a.Changed))))
	}
	for _, name := range names(known) {
		if !here[name] {
			row := []cell{text(name), {Text: "not here", Badge: "idle", Title: "this process does not poll it"}, k.ago(known[name].newest, name)}
			row = append(row, coveredCells(known, name, k)...)
			t.Rows = append(t.Rows, append(row, number("–"), number("–"), number("–"), number("–")))
		}
	}
	return t
}

func coveredCells(known map[string]covered, name string, k clock) []cell {
	a, has := known[name]
	if !has || len(a.spans) == 0 {
		return []cell{text("–"), text("–"), number("–")}
	}
	gaps := count(uint64(len(a.gaps())))
	if len(a.spans) > 1 {
		gaps.Href, gaps.Badge = "/accounts#gaps", "bad"
	}
	return []cell{k.at(a.spans[0].from, name), k.ago(a.spans[len(a.spans)-1].to, name), gaps}
}

func gapTable(known map[string]covered, k clock) table {
	t := table{ID: "gaps", Caption: "Gaps", Head: columns("Account", "From", "Until", "#Length"), Empty: "Every window between the first and the last was read."}
	for _, name := range names(known) {
		a := known[name]
		for _, g := range slices.Backward(a.gaps()) {
			length := g.to.Sub(g.from)
			t.Rows = append(t.Rows, []cell{
				text(name), k.at(g.from, name), k.at(g.to, name), {Text: length.Round(time.Second).String(), Value: fmt.Sprint(int64(length.Seconds())), Number: true},
			})
		}
	}
	return t
}

// The drawing of what is covered, in units of the picture.
const (
	coverLeft, coverRight = 4, 696
	coverDays             = 31
)

// drawCoverage shows the last days of an account: what was read, the gaps between,
// and what came before the first window.
func drawCoverage(name string, a *covered, k clock) coverageBar {
	end := k.now
	begin := end.AddDate(0, 0, -coverDays)
	zone := k.in(name)
	at := func(t time.Time) float64 {
		t = later(begin, earlier(end, t))
		return coverLeft + float64(coverRight-coverLeft)*float64(t.Sub(begin))/float64(end.Sub(begin))
	}
	b := coverageBar{Account: name}
	part := func(class string, s span) {
		if !s.to.After(begin) || s.from.After(end) {
			return
		}
		x := at(s.from)
		b.Parts = append(b.Parts, bar{
			X: coordinate(x), Y: "0", Width: coordinate(max(at(s.to)-x, 1.5)), Height: "22", Class: class,
			Title: fmt.Sprintf("%s: %s to %s", class, s.from.In(zone).Format(momentAt), s.to.In(zone).Format(momentAt)),
		})
	}
	for _, s := range a.spans {
		part("read", s)
	}
	gaps := a.gaps()
	for _, g := range gaps {
		part("gap", g)
	}
	for n := range coverDays {
		if day := begin.AddDate(0, 0, n+1); n%5 == 0 {
			midnight := time.Date(day.In(zone).Year(), day.In(zone).Month(), day.In(zone).Day(), 0, 0, 0, 0, zone)
			b.Labels = append(b.Labels, label{coordinate(at(midnight)), midnight.Format("01-02")})
		}
	}
	b.Summary = fmt.Sprintf("%s, the last %d days: %s", name, coverDays, strings.Join([]string{plural(uint64(len(gaps)), "gap") + " in all", plural(uint64(a.windows), "window") + " read"}, ", "))
	if a.doubts > 0 {
		b.Summary += fmt.Sprintf(", %s of them changed while they were read", humanize.Comma(a.doubts))
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
