package api

import (
	"net/http"
	"strconv"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/report"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
)

const (
	// fewRows and mostRows are how many orders or dead letters an answer has, unless
	// it is asked for another number, and at most.
	fewRows  = 50
	mostRows = 1000
	// mostOffset bounds how many orders are passed over.
	mostOffset = 100_000_000
)

// orders searches the books.
func (s *service) orders(w http.ResponseWriter, r *http.Request) error {
	p := tabular(r, "order", "account", "program", "website", "sub_id", "currency", "status", "from", "to", "limit", "offset")
	f := commission.OrderFilter{
		Filter: commission.Filter{
			Account: p.Get("account"), ProgramID: p.Get("program"), WebsiteID: p.Get("website"), SubID: p.Get("sub_id"),
			Currency: p.Get("currency"), Status: p.Get("status"), From: p.Get("from"), To: p.Get("to"),
		},
		OrderSn: p.Get("order"), Limit: p.number("limit", fewRows, mostRows), Offset: p.whole("offset", mostOffset),
	}
	if p.err != nil {
		return p.err
	}
	books, err := s.Books(r.Context())
	if err != nil {
		return err
	}
	t, total, err := report.Orders(r.Context(), books, f)
	if err != nil {
		return err
	}
	next := int64(f.Offset + len(t.Rows))
	if next >= total {
		next = 0
	}
	return table(w, p, "orders", t, struct {
		Orders any   `json:"orders"`
		Total  int64 `json:"total"`
		Next   int64 `json:"next_offset"`
	}{t.Value, total, next})
}

// order is one order with its events.
func (s *service) order(w http.ResponseWriter, r *http.Request) error {
	p := tabular(r)
	if p.err != nil {
		return p.err
	}
	key, err := schema.ParseOrderKey(r.PathValue("key"))
	if err != nil {
		return problem(http.StatusNotFound, "that is not the key of an order", "GET /api/v1/orders gives the keys")
	}
	t, err := report.TimelineOf(r.Context(), s.Log, key)
	if err != nil {
		return err
	}
	if t == nil {
		return problem(http.StatusNotFound, "the log knows no such order", "GET /api/v1/orders?order= finds orders by a part of their number")
	}
	return table(w, p, "order", t.Table(), t)
}

// deadLetters lists what was given up, without what it carries.
func (s *service) deadLetters(w http.ResponseWriter, r *http.Request) error {
	p := tabular(r, "sink", "before", "limit")
	before, limit := p.whole("before", 1<<62), p.number("limit", fewRows, mostRows)
	if p.err != nil {
		return p.err
	}
	t, next, err := report.Letters(r.Context(), s.Log, p.Get("sink"), uint64(before), limit)
	if err != nil {
		return err
	}
	return table(w, p, "dead-letters", t, struct {
		DeadLetters any    `json:"dead_letters"`
		Next        uint64 `json:"next_before"`
	}{t.Value, next})
}

// archive tells what the manifest of the archive says of it.
func (s *service) archive(w http.ResponseWriter, r *http.Request) error {
	p := tabular(r)
	if p.err != nil {
		return p.err
	}
	done, err := s.alone()
	if err != nil {
		return err
	}
	defer done()
	a, err := s.Archive(r.Context())
	if err != nil {
		return err
	}
	return table(w, p, "archive", a.Table(), a)
}

// whole reads a number from 0 to most.
func (q *query) whole(name string, most int) int {
	text := q.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		q.wrong(name+" is no number from 0 on", "leave it out for the first")
	}
	return n
}
