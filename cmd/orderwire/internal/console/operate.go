package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
	"github.com/orderwire/orderwire/schema"
)

// mostReason bounds the reason of a pause, in bytes.
const mostReason = 500

func keyOf(a *endpoints.Attempt) schema.OrderKey {
	return schema.OrderKey{Account: a.Account, Program: a.Program, OrderSn: a.Order}
}

func (c *console) pause(w http.ResponseWriter, r *http.Request) error {
	reason := strings.TrimSpace(r.PostFormValue("reason"))
	if len(reason) > mostReason {
		return wrong("The reason is longer than " + strconv.Itoa(mostReason) + " bytes.")
	}
	return c.back(w, r, c.Webhooks.Pause(r.Context(), r.PathValue("name"), reason))
}

func (c *console) resume(w http.ResponseWriter, r *http.Request) error {
	return c.back(w, r, c.Webhooks.Resume(r.Context(), r.PathValue("name")))
}

// back shows the endpoint again, so that loading the page again does nothing twice.
func (c *console) back(w http.ResponseWriter, r *http.Request, err error) error {
	if err == nil {
		http.Redirect(w, r, endpointPath(r.PathValue("name")), http.StatusSeeOther) //nolint:gosec // a path of this service, whatever the name
	}
	return err
}

func (c *console) test(w http.ResponseWriter, r *http.Request) error {
	result, err := c.Webhooks.Test(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	took := time.Duration(result.Duration).Round(time.Millisecond)
	notice := fmt.Sprintf("The receiver took the test event: HTTP %d after %s.", result.Status, took)
	if result.Reason != "" {
		notice = fmt.Sprintf("The test event failed after %s: %s", took, result.Reason)
	}
	return c.showWebhook(w, r, http.StatusOK, &webhookPage{Notice: notice, Outcomes: outcomes})
}

// replayPage shows what a replay would do, or did.
type replayPage struct {
	Path    string
	Report  replay.Report
	Failure string // why it ended before its end, "" when it did not
	Time    string // that it takes
	Types   table
	Fields  []field // of the form that does it
}

// field is a hidden field of a form, or a choice of it.
type field struct{ Name, Value string }

// replay counts what would be sent first; only the form of that page sends it.
func (c *console) replay(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if _, err := c.Webhooks.Get(r.Context(), name); err != nil {
		return err
	}
	request, err := replayRequest(r)
	if err != nil {
		return err
	}
	p := replayPage{Path: endpointPath(name)}
	p.Report, err = c.Replay.Replay(r.Context(), name, request)
	var mistake *replay.RequestError
	switch {
	case errors.As(err, &mistake):
		return wrong(mistake.Error())
	case err != nil && p.Report.Next == 0:
		return err
	case err != nil:
		p.Failure = err.Error()
	}
	p.complete(r)
	title := "Replay to " + name
	if p.Report.DryRun {
		title += ": dry run"
	}
	c.show(w, r, http.StatusOK, "replay", page{Title: title, At: "Webhooks", Body: p})
	return nil
}

// replayRequest reads the form. Unless it says send, nothing is sent.
func replayRequest(r *http.Request) (replay.Request, error) {
	q := replay.Request{
		Failures: r.PostFormValue("failures") != "", Rate: strings.TrimSpace(r.PostFormValue("rate")), DryRun: r.PostFormValue("send") != "yes",
	}
	q.Order = strings.TrimSpace(r.PostFormValue("order"))
	var err error
	for name, to := range map[string]*uint64{"from": &q.From, "until": &q.Until} {
		if s := strings.TrimSpace(r.PostFormValue(name)); s != "" {
			if *to, err = strconv.ParseUint(s, 10, 64); err != nil {
				return q, wrong(name + " is no sequence: write a whole number")
			}
		}
	}
	for name, to := range map[string]*time.Time{"since": &q.Since, "before": &q.Before} {
		if *to, err = timeOf(r, name); err != nil {
			return q, err
		}
	}
	var mistake *replay.RequestError
	if err := q.Check(); errors.As(err, &mistake) {
		return q, wrong(mistake.Error())
	}
	return q, nil
}

// replayFields are the fields of the form that go on to the real replay.
var replayFields = []string{"from", "until", "since", "before", "order", "failures", "rate"}

func (p *replayPage) complete(r *http.Request) {
	for _, name := range replayFields {
		if value := r.PostFormValue(name); value != "" {
			p.Fields = append(p.Fields, field{name, value})
		}
	}
	switch took := time.Duration(p.Report.Seconds * float64(time.Second)); {
	case took >= time.Second:
		p.Time = took.Round(time.Second).String()
	case took > 0:
		p.Time = "less than a second"
	}
	p.Types = table{Caption: "Events by type", Head: columns("Type", "#Events"), Empty: "No events."}
	for t, n := range p.Report.Types {
		p.Types.Rows = append(p.Types.Rows, []cell{text(string(t)), number(humanize.Comma(int64(n)))})
	}
	slices.SortFunc(p.Types.Rows, func(a, b []cell) int { return strings.Compare(a[0].Text, b[0].Text) })
}
