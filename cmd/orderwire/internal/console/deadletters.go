package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// lettersAPage is how many dead letters a page shows, and lettersAFile the most
// that an export has.
const (
	lettersAPage = 50
	lettersAFile = 1000
)

// deadPage is a page of dead letters.
type deadPage struct {
	Sink  string
	Sinks []string // that have any
	Table table
	First string // address of the newest, "" when they are shown
	Next  string // address of the older ones, "" for none
}

func (c *console) deadLetters(w http.ResponseWriter, r *http.Request) error {
	ctx, q := r.Context(), r.URL.Query()
	p := deadPage{Sink: strings.TrimSpace(q.Get("sink"))}
	before, _ := strconv.ParseUint(q.Get("before"), 10, 64) // what is none means the newest
	most := lettersAPage
	if asFile(r) {
		most = lettersAFile
	}
	letters, next, err := c.Log.NewestDead(ctx, p.Sink, before, most)
	if err != nil {
		return err
	}
	s, err := c.Line.Status(ctx)
	if err != nil {
		return err
	}
	p.Table = letterTable(letters, &s, c.clock(r))
	if p.Sink != "" {
		p.Table.Empty = "There are none of " + p.Sink + "."
	}
	p.Table.sort(r)
	if asFile(r) {
		return writeFile(w, r, "dead-letters", &p.Table)
	}
	p.Table.Export = exportOf(r, "")
	if before > 0 {
		p.First = "/deadletters?" + url.Values{"sink": {p.Sink}}.Encode()
	}
	if next > 0 {
		p.Next = with(r, "before", strconv.FormatUint(next, 10))
	}
	for i := range s.Sinks {
		p.Sinks = append(p.Sinks, s.Sinks[i].Name)
	}
	c.show(w, r, http.StatusOK, "deadletters", page{Title: "Dead letters", At: "Dead letters", Body: p})
	return nil
}

// ofDelivery is the beginning of the text of a [webhook.DeliveryError].
var ofDelivery = regexp.MustCompile(`^webhook ".*" \([^ ]*\): event [^ ]*: `)

// specific is what the reason of a dead letter says beyond endpoint, address and
// event, which the letter has by itself.
func specific(reason string) string {
	if rest := reason[len(ofDelivery.FindString(reason)):]; rest != "" {
		return rest
	}
	return reason
}

// letterTable shows dead letters without what they carry.
func letterTable(letters []pipeline.Buried, s *line.Status, k clock) table {
	t := table{
		Caption: "Dead letters, the newest first", Head: columns("Given up", "Sink", "Order", "Event", "#Sequence", "#Attempts", "Reason"),
		Empty: "There are none: nothing has been given up. An event that a sink or a receiver refuses for good is kept here.",
	}
	for i := range letters {
		d := &letters[i]
		account, order, event, sink := "", text("–"), text("–"), text(d.Sink)
		if sinkOf(s, d.Sink) != nil {
			sink.Href = endpointPath(d.Sink)
		}
		if key, kind, err := schema.ParseSubject(d.Subject); err == nil {
			account, order, event = key.Account, linked(text(key.OrderSn), orderPath(key)), text(string(kind))
		}
		t.Rows = append(t.Rows, []cell{
			k.brief(d.At, account), sink, order, event, count(d.Sequence), count(uint64(d.Attempts)), {Text: specific(d.Reason), Value: d.Reason, Title: d.Reason},
		})
	}
	return t
}
