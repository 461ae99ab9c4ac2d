package network

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Fault is a way in which an answer fails.
type Fault string

// The faults of [Faults], all as likely as each other.
const (
	FaultServerError Fault = "HTTP 500"
	FaultTooMany     Fault = "HTTP 429"
	FaultHalfJSON    Fault = "half a JSON document"
	FaultHTML        Fault = "HTML"
	FaultBusy        Fault = "system busy"
	FaultHang        Fault = "hang"
)

var allFaults = []Fault{FaultServerError, FaultTooMany, FaultHalfJSON, FaultHTML, FaultBusy, FaultHang}

// FaultsConfig says how often and how requests fail. The zero value of every
// field but Rate means its default.
type FaultsConfig struct {
	// Rate is the share of requests that fail, from 0 (none) to 1 (all).
	Rate float64
	// Seed decides which requests fail, counted as they come, and how.
	Seed uint64
	// Kinds are the faults to choose from; all of them when empty.
	Kinds []Fault
	// MaxHang bounds a hang, which otherwise ends when the client gives up; one
	// minute when 0.
	MaxHang time.Duration
	// RetryAfter is what HTTP 429 asks for, in whole seconds; 1 s when 0.
	RetryAfter time.Duration
}

// Faults is middleware that answers some of the requests wrongly, for tests of
// clients. Half a JSON document is half of the real answer, so such a request
// has taken effect; with the other faults the service never sees it.
type Faults struct {
	next   http.Handler
	config FaultsConfig
	closed chan struct{}
	close  func()

	mu      sync.Mutex
	dice    *rand.Rand
	counted map[Fault]int
}

// NewFaults puts faults in front of next. The error is a [*ConfigError].
func NewFaults(next http.Handler, config FaultsConfig) (*Faults, error) {
	if !(config.Rate >= 0 && config.Rate <= 1) {
		return nil, &ConfigError{"Rate", "give a share between 0 and 1"}
	}
	for _, kind := range config.Kinds {
		if !slices.Contains(allFaults, kind) {
			return nil, &ConfigError{"Kinds", fmt.Sprintf("no fault is called %q", kind)}
		}
	}
	if len(config.Kinds) == 0 {
		config.Kinds = allFaults
	}
	config.MaxHang = cmp.Or(config.MaxHang, time.Minute)
	config.RetryAfter = cmp.Or(config.RetryAfter, time.Second)
	f := &Faults{next: next, config: config, closed: make(chan struct{}), counted: map[Fault]int{}}
	f.close = sync.OnceFunc(func() { close(f.closed) })
	f.dice = newDice(config.Seed, 0, 0)
	return f, nil
}

// Close ends all hangs, now and later, so that a server can shut down. It may
// be called more than once.
func (f *Faults) Close() { f.close() }

// Counts returns how many requests failed in which way so far.
func (f *Faults) Counts() map[Fault]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counted)
}

// ServeHTTP answers a request, rightly or wrongly.
func (f *Faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch f.choose() {
	case FaultServerError:
		http.Error(w, "internal server error", http.StatusInternalServerError)
	case FaultTooMany:
		w.Header().Set("Retry-After", strconv.Itoa(int(f.config.RetryAfter/time.Second)))
		envelope(w, StatusTooMany, "too many requests, try again later")
	case FaultHalfJSON:
		f.half(w, r)
	case FaultHTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte("<!DOCTYPE html>\n<html><body><h1>Maintenance</h1></body></html>\n")) //nolint:errcheck // nobody is left to be told
	case FaultBusy:
		envelope(w, StatusBusy, "system busy")
	case FaultHang:
		f.hang(w, r)
	default:
		f.next.ServeHTTP(w, r)
	}
}

// choose returns the fault of the next request, "" for none.
func (f *Faults) choose() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dice.Float64() >= f.config.Rate {
		return ""
	}
	kind := f.config.Kinds[f.dice.IntN(len(f.config.Kinds))]
	f.counted[kind]++
	return kind
}

func envelope(w http.ResponseWriter, status Status, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status.HTTP())
	w.Write(appendRefusal(nil, status, message)) //nolint:errcheck // nobody is left to be told
}

// half sends the first half of the real answer as if it were all of it.
func (f *Faults) half(w http.ResponseWriter, r *http.Request) {
	rec := recorder{header: http.Header{}}
	f.next.ServeHTTP(&rec, r)
	half := rec.body.Bytes()[:rec.body.Len()/2]
	maps.Copy(w.Header(), rec.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(half)))
	w.WriteHeader(cmp.Or(rec.code, http.StatusOK))
	w.Write(half) //nolint:errcheck // nobody is left to be told
}

// hang waits until the client gives up and then drops the connection. It reads
// the body first, because only then does the server watch for the client.
func (f *Faults) hang(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody)) //nolint:errcheck // an answer is not to come anyway
	limit := time.NewTimer(f.config.MaxHang)
	defer limit.Stop()
	select {
	case <-r.Context().Done():
	case <-f.closed:
	case <-limit.C:
	}
	panic(http.ErrAbortHandler)
}

// recorder keeps an answer instead of sending it.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(code int)        { r.code = code }
