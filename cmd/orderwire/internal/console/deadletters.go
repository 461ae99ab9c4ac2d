package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

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
	if asCSV(r) {
		most = lettersAFile
	}
	letters, next, err := c.Log.NewestDead(ctx, p.Sink, before, most)
	if err != nil {
		return err
	}
	p.Table = letterTable(letters)
	if asCSV(r) {
		return writeCSV(w, "dead-letters", &p.Table)
	}
	p.Table.Export = exportOf(r)
	if before > 0 {
		p.First = "/deadletters?" + url.Values{"sink": {p.Sink}}.Encode()
	}
	if next > 0 {
		p.Next = with(r, "before", strconv.FormatUint(next, 10))
	}
	s, err := c.Line.Status(ctx)
	if err != nil {
		return err
	}
	for i := range s.Sinks {
		p.Sinks = append(p.Sinks, s.Sinks[i].Name)
	}
	c.show(w, r, http.StatusOK, "deadletters", page{Title: "Dead letters", At: "Dead letters", Body: p})
	return nil
}

// letterTable shows dead letters without what they carry.
func letterTable(letters []pipeline.Buried) table {
	t := table{
		Caption: "Dead letters, the newest first", Head: columns("Given up (UTC)", "Sink", "Order", "Event", "#Sequence", "#Attempts", "Reason"),
		Empty: "There are none here.",
	}
	for i := range letters {
		d := &letters[i]
		order, event := text("–"), text("–")
		if key, kind, err := schema.ParseSubject(d.Subject); err == nil {
			order, event = cell{Text: key.OrderSn, Href: orderPath(key)}, text(string(kind))
		}
		t.Rows = append(t.Rows, []cell{
			stamp(d.At), text(d.Sink), order, event, number(strconv.FormatUint(d.Sequence, 10)), number(strconv.Itoa(d.Attempts)), text(d.Reason),
		})
	}
	return t
}
