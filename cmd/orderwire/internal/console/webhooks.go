package console

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
)

// attemptsAPage is how many attempts the page of an endpoint shows, and
// attemptsAFile the most that an export has, or that the pages go back.
const (
	attemptsAPage = 50
	attemptsAFile = 10_000
)

const noEndpoints = "There are no endpoints. Add one with orderwire webhook add, or in the configuration."

// webhookPage is one endpoint.
type webhookPage struct {
	View     endpoints.View
	State    cell
	Facts    []fact
	Path     string
	Stopped  bool // paused, disabled or broken
	Paused   bool // by a person
	Broken   bool // it fails throughout, and is probed
	Notice   string
	Attempts table
	Pager    pager

	Outcome, Order, Event string // of the filter
	Outcomes              []field
}

// outcomes are those that attempts are searched by.
var outcomes = []field{{"delivered", "delivered"}, {"failed", "failed"}, {"given up", "given_up"}}

func (c *console) webhooks(w http.ResponseWriter, r *http.Request) error {
	all, err := c.Webhooks.List(r.Context())
	if err != nil {
		return err
	}
	s, err := c.Line.Status(r.Context())
	if err != nil {
		return err
	}
	k := c.clock(r)
	t := table{
		Caption: "Endpoints", Head: columns("Endpoint", "State", "Address", "#Events behind", "Oldest undelivered", "#Parked orders", "Stands in"),
		Empty: noEndpoints, Export: exportOf(r, ""),
	}
	for i := range all {
		v := &all[i]
		row := []cell{{Text: v.Name, Href: endpointPath(v.Name)}, stateCell(v.State, v.Reason), text(v.URL), number(""), text("–"), number(""), text(v.Origin)}
		if sink := sinkOf(&s, v.Name); sink != nil {
			row[3] = count(sink.Lag)
			if d := sink.Delivery; d != nil {
				row[5] = count(uint64(d.Parked))
				if !d.Oldest.IsZero() {
					row[4] = k.ago(d.Oldest, "")
				}
			}
		}
		t.Rows = append(t.Rows, row)
	}
	t.sort(r)
	if asFile(r) {
		return writeFile(w, r, "webhooks", &t)
	}
	c.show(w, r, http.StatusOK, "webhooks", page{Title: "Webhooks", At: "Webhooks", Body: t})
	return nil
}

// sinkOf returns an endpoint's part of the status, nil when this process knows none.
func sinkOf(s *line.Status, name string) *line.Sink {
	for i := range s.Sinks {
		if s.Sinks[i].Kind == "endpoint" && s.Sinks[i].Name == name {
			return &s.Sinks[i]
		}
	}
	return nil
}

func (c *console) webhook(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	p := webhookPage{
		Outcome: q.Get("outcome"), Order: strings.TrimSpace(q.Get("order")), Event: strings.TrimSpace(q.Get("event")),
		Outcomes: outcomes,
	}
	return c.showWebhook(w, r, http.StatusOK, &p)
}

// showWebhook completes the page of the endpoint that a request names.
func (c *console) showWebhook(w http.ResponseWriter, r *http.Request, status int, p *webhookPage) (err error) {
	name := r.PathValue("name")
	if p.View, err = c.Webhooks.Get(r.Context(), name); err != nil {
		return err
	}
	p.Path, p.State = endpointPath(name), stateCell(p.View.State, p.View.Reason)
	p.Paused, p.Broken = p.View.State == endpoints.StatePaused, p.View.State == endpoints.StateBroken
	p.Stopped = p.Paused || p.Broken || p.View.State == endpoints.StateDisabled
	if p.Facts, err = c.endpointFacts(r, &p.View); err != nil {
		return err
	}
	from, most := min((pageNumber(r)-1)*attemptsAPage, attemptsAFile-attemptsAPage), attemptsAPage
	if asFile(r) {
		from, most = 0, attemptsAFile
	}
	found, err := c.Attempts(r.Context(), endpoints.Query{Endpoint: name, Order: p.Order, Event: p.Event, Outcome: p.Outcome, Limit: from + most + 1})
	if errors.Is(err, endpoints.ErrQuery) {
		return wrong(err.Error())
	}
	if err != nil {
		return err
	}
	found = found[min(from, len(found)):]
	p.Pager = attemptPager(r, from, len(found))
	p.Attempts = attemptTable(found[:min(most, len(found))], c.clock(r))
	if p.Outcome+p.Order+p.Event == "" && from == 0 {
		p.Attempts.Empty = "Nothing has been sent here yet. Every attempt is listed here for as long as the attempt log keeps it."
	}
	if !asFile(r) {
		p.Attempts.without("reason", "next")
	}
	if r.Method == http.MethodGet {
		p.Attempts.sort(r)
		p.Attempts.Export = exportOf(r, "")
	}
	if asFile(r) {
		return writeFile(w, r, "attempts", &p.Attempts)
	}
	c.show(w, r, status, "webhook", page{Title: "Webhook " + name, At: "Webhooks", Body: p, Address: p.Path + queryOf(r)})
	return nil
}

// queryOf is the query of the page that a request loads; a form's answer has none.
func queryOf(r *http.Request) string {
	if r.Method != http.MethodGet || r.URL.RawQuery == "" {
		return ""
	}
	return "?" + r.URL.RawQuery
}

// attemptPager leads to newer and older attempts; how many there are nobody counts.
func attemptPager(r *http.Request, from, found int) (p pager) {
	n := from/attemptsAPage + 1
	if n > 1 {
		p.Text, p.Prev = "page "+strconv.Itoa(n), with(r, "page", strconv.Itoa(n-1))
	}
	if found > attemptsAPage && from+2*attemptsAPage <= attemptsAFile {
		p.Text, p.Next = "page "+strconv.Itoa(n), with(r, "page", strconv.Itoa(n+1))
	}
	return p
}

func (c *console) endpointFacts(r *http.Request, v *endpoints.View) ([]fact, error) {
	s, err := c.Line.Status(r.Context())
	if err != nil {
		return nil, err
	}
	k := c.clock(r)
	facts := []fact{{"State", stateCell(v.State, v.Reason)}}
	if !v.Since.IsZero() {
		facts = append(facts, fact{strings.ToUpper(v.State[:1]) + v.State[1:] + " since", k.at(v.Since, "")})
	}
	facts = append(facts, fact{"Reason", text(v.Reason)}, fact{"Address", text(v.URL)}, fact{"Stands in", text(v.Origin)})
	if sink := sinkOf(&s, v.Name); sink != nil {
		facts = append(facts, fact{"Events behind", count(sink.Lag)}, fact{"Failure", text(sink.Failure)})
		if d := sink.Delivery; d != nil {
			facts = append(facts, fact{"Oldest undelivered", ageOf(d.Oldest, k)}, fact{"Parked orders", count(uint64(d.Parked))},
				fact{"Wait for another attempt", count(uint64(d.Waiting))}, fact{"Delivered since the start", count(d.Attempts.Delivered)},
				fact{"Failed attempts", count(d.Attempts.Failed)}, fact{"Given up", count(d.Attempts.GivenUp)})
		}
	}
	facts = append(facts, fact{"Only events", text(strings.Join(v.Events, ", "))}, fact{"Only accounts", text(strings.Join(v.Accounts, ", "))},
		fact{"Only programs", text(strings.Join(v.Programs, ", "))}, fact{"Where", text(v.Where)}, fact{"Public keys", text(strings.Join(v.PublicKeys, ", "))})
	kept := facts[:0]
	for _, f := range facts {
		if f.Cell.Text != "" {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

func ageOf(at time.Time, k clock) cell {
	if at.IsZero() {
		return text("none")
	}
	return k.ago(at, "")
}

func attemptTable(all []endpoints.Attempt, k clock) table {
	t := table{
		Caption: "Newest attempts", Head: columns("Time", "Outcome", "Order", "Event", "#Version", "#Attempt", "#Status", "#Milliseconds", "Reason", "Next"),
		Empty: "No attempts match.",
	}
	badges := map[string]string{"delivered": "good", "failed": "warn", "given_up": "bad"}
	for i := range all {
		a := &all[i]
		status, next := number(""), text("")
		if a.Status != 0 {
			status = number(strconv.Itoa(a.Status))
		}
		if a.Next.After(k.now) {
			next = k.brief(a.Next, a.Account)
		} else if !a.Next.IsZero() { // past: of no use but to programs
			next.Value = a.Next.UTC().Format(time.RFC3339Nano)
		}
		t.Rows = append(t.Rows, []cell{
			k.brief(a.At, a.Account), {Text: strings.ReplaceAll(a.Outcome, "_", " "), Value: a.Outcome, Badge: badges[a.Outcome]}, {Text: a.Order, Href: orderPath(keyOf(a))}, {Text: a.Type, Title: a.Event},
			count(a.Version), number(strconv.Itoa(a.Number)), status, number(strconv.FormatFloat(a.Duration, 'f', 1, 64)), text(a.Reason), next,
		})
	}
	return t
}
