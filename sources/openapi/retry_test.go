package openapi_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderwire/orderwire/sources/openapi"
)

// reply is one answer of a fake network, or the failure to give one.
type reply struct {
	code   int
	body   string
	header []string // names and values in turn
	err    error
}

func gives(code int, body string, header ...string) reply {
	return reply{code: code, body: body, header: header}
}

var fails = reply{err: io.ErrUnexpectedEOF}

// fake is a network under a fake clock that gives its replies one after
// another, the last one for ever, and notes when the requests came.
type fake struct {
	replies []reply
	at      []time.Time
	bodies  []string
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	f.at, f.bodies = append(f.at, time.Now()), append(f.bodies, string(raw))
	next := f.replies[min(len(f.at), len(f.replies))-1]
	if next.err != nil {
		return nil, next.err
	}
	return response(next.code, next.body, next.header...), nil
}

func (f *fake) pauses() []time.Duration {
	var all []time.Duration
	for i := range f.at[1:] {
		all = append(all, f.at[i+1].Sub(f.at[i]))
	}
	return all
}

// newFake returns a client with the default pauses and no rate limit.
func newFake(t *testing.T, change func(*openapi.Config), replies ...reply) (*openapi.Client, *fake) {
	t.Helper()
	f := &fake{replies: replies}
	return newClient(t, "https://api.example.com", func(cfg *openapi.Config) {
		cfg.InitialBackoff, cfg.MaxBackoff = 0, 0
		cfg.HTTPClient = &http.Client{Transport: f}
		if change != nil {
			change(cfg)
		}
	}), f
}

func TestRetryUntilSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newFake(t, nil, fails, gives(503, ""), gives(200, `{"Status":429}`), gives(200, emptyPage))
		if _, err := c.Orders(t.Context(), dayQuery); err != nil {
			t.Fatal(err)
		}
		if len(f.at) != 4 {
			t.Errorf("%d requests, want 4", len(f.at))
		}
	})
}

func TestEveryAttemptIsStampedAndSigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newFake(t, nil, gives(503, "", "Retry-After", "10"), gives(200, emptyPage))
		if _, err := c.Orders(t.Context(), dayQuery); err != nil {
			t.Fatal(err)
		}
		for i, body := range f.bodies {
			_, params := bodyOf(t, &http.Request{Body: io.NopCloser(strings.NewReader(body))})
			if params["Timestamp"] != float64(f.at[i].Unix()) {
				t.Errorf("attempt %d: Timestamp %v at %d", i+1, params["Timestamp"], f.at[i].Unix())
			}
			if ok, err := openapi.Verify(testSecret, ordersPath, []byte(body), params["Sign"].(string)); !ok {
				t.Errorf("attempt %d: signature refused: %v", i+1, err)
			}
		}
	})
}

func TestRetriesEnd(t *testing.T) {
	for _, most := range []int{1, 2, 7} {
		synctest.Test(t, func(t *testing.T) {
			c, f := newFake(t, func(cfg *openapi.Config) { cfg.MaxAttempts = most }, gives(503, ""))
			_, err := c.Orders(t.Context(), dayQuery)
			var got *openapi.HTTPError
			if !errors.As(err, &got) || got.Attempts != most || len(f.at) != most {
				t.Errorf("%v after %d requests, want %d", err, len(f.at), most)
			}
		})
	}
}

func TestTheLastErrorCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newFake(t, nil, fails, gives(200, `{"Status":-1,"Message":"sign"}`))
		_, err := c.Orders(t.Context(), dayQuery)
		var got *openapi.RefusedError
		if !errors.As(err, &got) || got.Attempts != 2 || len(f.at) != 2 {
			t.Errorf("%v after %d requests", err, len(f.at))
		}
	})
}

func TestPausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newFake(t, func(cfg *openapi.Config) {
			cfg.InitialBackoff, cfg.MaxBackoff, cfg.MaxAttempts = time.Second, 3*time.Second, 6
		}, gives(503, ""))
		if err := c.Check(t.Context()); err == nil {
			t.Fatal("no error")
		}
		for i, want := range [][2]float64{{0.5, 1.5}, {1, 3}, {1.5, 3}, {1.5, 3}, {1.5, 3}} {
			if got := f.pauses()[i].Seconds(); got < want[0] || got > want[1]+1e-6 {
				t.Errorf("pause %d is %v s, want %v", i+1, got, want)
			}
		}
	})
}

func TestRetryAfter(t *testing.T) {
	const short = 750 * time.Millisecond // the longest first pause without the header
	tests := []struct {
		name        string
		reply       reply
		least, most time.Duration
	}{
		{"seconds", gives(429, "", "Retry-After", "7"), 7 * time.Second, 7 * time.Second},
		{"a busy refusal", gives(200, `{"Status":429}`, "Retry-After", "7"), 7 * time.Second, 7 * time.Second},
		{"a date", gives(503, "", "Retry-After", "Sat, 01 Jan 2000 00:01:30 GMT"), 90 * time.Second, 90 * time.Second},
		{"a date that has passed", gives(503, "", "Retry-After", "Fri, 31 Dec 1999 00:00:00 GMT"), 0, short},
		{"an hour", gives(503, "", "Retry-After", "3600"), 5 * time.Minute, 5 * time.Minute},
		{"the year 2100", gives(503, "", "Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT"), 5 * time.Minute, 5 * time.Minute},
		{"a huge number", gives(503, "", "Retry-After", "99999999999999999999999"), 5 * time.Minute, 5 * time.Minute},
		{"zero", gives(503, "", "Retry-After", "0"), 0, short},
		{"a negative number", gives(503, "", "Retry-After", "-5"), 0, short},
		{"words", gives(503, "", "Retry-After", "soon"), 0, short},
		{"nothing", gives(503, ""), 250 * time.Millisecond, short},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f := newFake(t, nil, tt.reply, gives(200, emptyPage))
				if err := c.Check(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := f.pauses()[0]; got < tt.least || got > tt.most {
					t.Errorf("pause %v, want %v to %v", got, tt.least, tt.most)
				}
			})
		})
	}
}

func TestRetryAfterHoldsForOnePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newFake(t, nil, gives(503, "", "Retry-After", "60"), gives(503, ""), gives(200, emptyPage))
		if err := c.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p := f.pauses(); p[0] != time.Minute || p[1] > 2*time.Second {
			t.Errorf("pauses %v", p)
		}
	})
}

func TestRetryAfterIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newFake(t, func(cfg *openapi.Config) { cfg.MaxAttempts = 1 }, gives(429, "", "Retry-After", "12"))
		var got *openapi.HTTPError
		if err := c.Check(t.Context()); !errors.As(err, &got) || got.RetryAfter != 12*time.Second {
			t.Errorf("err = %v", err)
		}
	})
}
