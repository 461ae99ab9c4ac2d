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
	if asFile(r) {
		most = lettersAFile
	}
	letters, next, err := c.Log.NewestDead(ctx, p.Sink, before, most)
	if err != nil {
		return err
	}
	p.Table = letterTable(letters, c.clock(r))
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
func letterTable(letters []pipeline.Buried, k clock) table {
	t := table{
		Caption: "Dead letters, the newest first", Head: columns("Given up", "Sink", "Order", "Event", "#Sequence", "#Attempts", "Reason"),
		Empty: "There are none here.",
	}
	for i := range letters {
		d := &letters[i]
		account, order, event := "", text("–"), text("–")
		if key, kind, err := schema.ParseSubject(d.Subject); err == nil {
			account, order, event = key.Account, linked(text(key.OrderSn), orderPath(key)), text(string(kind))
		}
		t.Rows = append(t.Rows, []cell{
			k.at(d.At, account), text(d.Sink), order, event, count(d.Sequence), count(uint64(d.Attempts)), text(d.Reason),
		})
	}
	return t
}
