package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mostBody is the most bytes of a request's body.
const mostBody = 1 << 20

// read takes a request's body in; an empty one leaves v as it is.
func read(w http.ResponseWriter, r *http.Request, v any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			return malformed("there is something behind the document", "send one JSON document")
		}
		return nil
	}
	var large *http.MaxBytesError
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	const unknown = "json: unknown field "
	switch {
	case errors.As(err, &large):
		return problem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", mostBody), "send less")
	case errors.As(err, &kind):
		return malformed(strings.TrimSpace(kind.Field+" is of the wrong kind"), "see /api/v1/openapi.yaml")
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return malformed("the body is no JSON", "send one JSON document")
	case strings.HasPrefix(err.Error(), unknown):
		return malformed("there is no field "+strings.TrimPrefix(err.Error(), unknown), "see /api/v1/openapi.yaml for those that there are")
	}
	return malformed(err.Error(), "see /api/v1/openapi.yaml") // of a value's own notation, such as a time's
}

func malformed(detail, hint string) *ProblemError {
	return problem(http.StatusBadRequest, detail, hint)
}

// query reads the parameters of a request, and remembers the first mistake.
type query struct {
	url.Values
	err error
	csv bool // a table is asked for as CSV
}

// parameters reads those that an operation has; any other is refused.
func parameters(r *http.Request, names ...string) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{Values: values}
	if err != nil {
		q.wrong("the query cannot be read", "write name=value, joined by &")
		return q
	}
	for name, all := range values {
		switch {
		case !slices.Contains(names, name):
			hint := "there are none here"
			if len(names) > 0 {
				hint = "there are " + strings.Join(names, ", ")
			}
			q.wrong("there is no parameter "+strconv.Quote(name), hint)
		case len(all) > 1:
			q.wrong("parameter "+name+" stands twice", "give it once")
		}
	}
	return q
}

func (q *query) wrong(detail, hint string) {
	if q.err == nil {
		q.err = malformed(detail, hint)
	}
}

// moment reads a time, or the beginning of a day in UTC; the zero time for none.
func (q *query) moment(name string) time.Time {
	text := q.Get(name)
	if text == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	q.wrong(name+" is no time", "write 2026-11-01 or 2026-11-01T08:00:00Z")
	return time.Time{}
}

// number reads a number between 1 and most.
func (q *query) number(name string, without, most int) int {
	text := q.Get(name)
	if text == "" {
		return without
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		q.wrong(name+" is no number between 1 and "+strconv.Itoa(most), "leave it out for "+strconv.Itoa(without))
	}
	return n
}

// truth reads true or false; false for none.
func (q *query) truth(name string) bool {
	text := q.Get(name)
	if text != "" && text != "true" && text != "false" {
		q.wrong(name+" is neither true nor false", "leave it out for false")
	}
	return text == "true"
}
