package replay

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
)

// Request says what an endpoint is to get again, and how. The zero value of a
// field is its default.
type Request struct {
	Range
	// Failures are only the events that the endpoint has given up on, which are in
	// its dead letters, each once. Since and Before are the times of that then.
	Failures bool `json:"failures,omitzero"`
	// Source is where events come from: "auto" (default), the log, and the archive
	// what has aged out of it; "log"; or "archive". Without meaning for Failures,
	// whose events are kept with the dead letters.
	Source string `json:"source,omitzero"`
	// SkipMissing goes on where neither log nor archive has the events.
	SkipMissing bool `json:"skip_missing,omitzero"`
	// Rate is the most attempts in a second, as "50/s" or "50"; "none" or "0" for no
	// bound. Default 100/s, or half of the endpoint's rate_limit if that is less; it
	// is never more than that.
	Rate string `json:"rate,omitzero"`
	// Concurrency is the most deliveries at a time, default a quarter of the
	// endpoint's.
	Concurrency int `json:"concurrency,omitzero"`
	// DryRun counts the events and sends nothing.
	DryRun bool `json:"dry_run,omitzero"`
}

// RequestError says what is wrong with a request.
type RequestError struct {
	Field   string // its JSON name; "" for the whole
	Problem string
}

// Error names the field as a flag.
func (e *RequestError) Error() string {
	if e.Field == "" {
		return e.Problem
	}
	return "--" + strings.ReplaceAll(e.Field, "_", "-") + ": " + e.Problem
}

// Check says what is wrong, by a [RequestError].
func (q *Request) Check() error {
	if err := q.CheckRange(); err != nil {
		return err
	}
	if _, _, err := ParseRate(q.Rate); err != nil {
		return err
	}
	switch {
	case q.Concurrency < 0:
		return &RequestError{"concurrency", "it is less than 1"}
	case q.Only(Range{}) && !q.Failures:
		return &RequestError{"", "say which events: --from and --until, --since and --before, --event, or --failures"}
	}
	return nil
}

// CheckRange says what is wrong with the range and the source.
func (q *Request) CheckRange() error {
	switch q.Source {
	case "", "auto", "log", "archive":
	default:
		return &RequestError{"source", fmt.Sprintf("there is no source %q; known are auto, log and archive", q.Source)}
	}
	if q.Until > 0 && q.Until < q.From || !q.Before.IsZero() && !q.Since.Before(q.Before) {
		return &RequestError{"", "the range ends before it begins: see --from, --until, --since and --before"}
	}
	return nil
}

// Only reports whether a range is no more than another.
func (r *Range) Only(of Range) bool {
	return r.From == of.From && r.Until == of.Until && r.Since.Equal(of.Since) && r.Before.Equal(of.Before) &&
		r.Account == of.Account && r.Program == of.Program && r.Order == of.Order && slices.Equal(r.IDs, of.IDs)
}

// ParseRate reads a number of events a second. given is false for "", and
// perSecond 0 means no bound.
func ParseRate(text string) (perSecond float64, given bool, err error) {
	switch text {
	case "":
		return 0, false, nil
	case "none", "0":
		return 0, true, nil
	}
	perSecond, err = strconv.ParseFloat(strings.TrimSuffix(text, "/s"), 64)
	if err != nil || !(perSecond > 0) || math.IsInf(perSecond, 1) {
		return 0, true, &RequestError{"rate", fmt.Sprintf("%q is no number of events a second, such as 50/s, nor none", text)}
	}
	return perSecond, true, nil
}

// defaultRate is the most deliveries of a replay in a second, beside those of new
// events, unless somebody asks for more.
const defaultRate = 100

// defaultConcurrency is that of an endpoint.
const defaultConcurrency = 16

// pace returns how fast an endpoint gets the events: attempts in a second, 0 for
// no bound, and deliveries at a time.
func (q *Request) pace(w *config.Webhook) (perSecond float64, concurrency int, err error) {
	perSecond, given, err := ParseRate(q.Rate)
	switch bound := w.RateLimit; {
	case err != nil:
		return 0, 0, err
	case !given && bound > 0:
		perSecond = min(defaultRate, bound/2)
	case !given:
		perSecond = defaultRate
	case bound > 0 && (perSecond == 0 || perSecond > bound):
		perSecond = bound
	}
	if concurrency = q.Concurrency; concurrency == 0 {
		if concurrency = w.Concurrency; concurrency == 0 {
			concurrency = defaultConcurrency
		}
		concurrency = max(1, concurrency/4)
	}
	return perSecond, concurrency, nil
}

// errNoLog says that a request needs the log, which was not opened.
var errNoLog = errors.New("replay: the dead letters are in the log, which is not open")
