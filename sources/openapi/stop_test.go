package openapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderwire/orderwire/sources/openapi"
)

func TestAttemptTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := newClient(t, "https://api.example.com", func(cfg *openapi.Config) {
			cfg.Timeout, cfg.MaxAttempts = 10*time.Second, 3
			cfg.HTTPClient = &http.Client{Transport: inMemory(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})}
		})
		err := c.Check(t.Context())
		var got *openapi.TransportError
		if !errors.As(err, &got) || !errors.Is(err, context.DeadlineExceeded) || got.Attempts != 3 {
			t.Errorf("err = %v", err)
		}
		if took := time.Since(start).Round(time.Second); took != 30*time.Second {
			t.Errorf("took %v, want 3 attempts of 10 s", took)
		}
	})
}

// stalled is a body that never ends and gives nothing.
type stalled struct{ until <-chan struct{} }

func (s stalled) Read([]byte) (int, error) { <-s.until; return 0, context.Canceled }
func (s stalled) Close() error             { return nil }

func TestContextEndsEverything(t *testing.T) {
	reason := errors.New("shutdown")
	tests := []struct {
		name   string
		answer inMemory
		after  time.Duration
	}{
		{"in a request", func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, 2 * time.Second},
		{"in a body", func(r *http.Request) (*http.Response, error) {
			resp := response(200, "")
			resp.Body = stalled{r.Context().Done()}
			return resp, nil
		}, 2 * time.Second},
		{"in a pause", func(*http.Request) (*http.Response, error) {
			return response(503, "", "Retry-After", "100"), nil
		}, 2 * time.Second},
		{"before anything", func(*http.Request) (*http.Response, error) { return nil, errors.New("was sent") }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := time.AfterFunc(tt.after, func() { cancel(reason) })
				defer stop.Stop()
				if tt.after == 0 {
					cancel(reason)
				}
				start := time.Now()
				c := newClient(t, "https://api.example.com", func(cfg *openapi.Config) { cfg.HTTPClient = &http.Client{Transport: tt.answer} })
				err := c.Check(ctx)
				if !errors.Is(err, reason) || !strings.Contains(err.Error(), "stopped") {
					t.Errorf("err = %v, want the cause of the context", err)
				}
				if took := time.Since(start); took != tt.after {
					t.Errorf("took %v, want %v", took, tt.after)
				}
			})
		})
	}
}

func TestStopKeepsTheLastFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, _ := newFake(t, nil, gives(503, "", "Retry-After", "100"))
		err := c.Check(ctx)
		var last *openapi.HTTPError
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &last) || last.Attempts != 1 {
			t.Errorf("err = %v", err)
		}
	})
}

func TestRateLimit(t *testing.T) {
	tests := []struct {
		name  string
		rate  float64
		burst int
		want  time.Duration // for 5 requests
	}{
		{"by default 5 a second", 0, 0, 800 * time.Millisecond},
		{"2 a second", 2, 0, 2 * time.Second},
		{"2 a second, 3 at once", 2, 3, time.Second},
		{"unlimited", -1, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f := newFake(t, func(cfg *openapi.Config) { cfg.RequestsPerSecond, cfg.Burst = tt.rate, tt.burst }, gives(200, emptyPage))
				for range 5 {
					if err := c.Check(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if took := f.at[4].Sub(f.at[0]).Round(time.Millisecond); took != tt.want {
					t.Errorf("5 requests took %v, want %v", took, tt.want)
				}
			})
		})
	}
}

func TestRetriesAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newFake(t, func(cfg *openapi.Config) {
			cfg.RequestsPerSecond, cfg.InitialBackoff, cfg.MaxBackoff = 0.1, time.Millisecond, time.Millisecond
		}, gives(503, ""), gives(503, ""), gives(200, emptyPage))
		if err := c.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := f.at[2].Sub(f.at[0]).Round(time.Millisecond); took != 20*time.Second {
			t.Errorf("3 attempts took %v, want 20 s", took)
		}
	})
}

func TestDeadlineBeforeTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newFake(t, func(cfg *openapi.Config) { cfg.RequestsPerSecond = 0.01 }, gives(200, emptyPage))
		if err := c.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := c.Check(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 0 || len(f.at) != 1 {
			t.Errorf("err = %v after %v and %d requests", err, time.Since(start), len(f.at))
		}
	})
}
