package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// manners are what a receiver may do with a delivery, and what has to come of it.
var manners = map[string]func(status int, err error) bool{
	"takes":    func(status int, err error) bool { return status == http.StatusNoContent && err == nil },
	"answers":  func(status int, err error) bool { return status == http.StatusOK && err == nil },
	"refuses":  func(status int, err error) bool { return status == http.StatusInternalServerError && err != nil },
	"cuts":     func(status int, err error) bool { return status == 0 && errors.Is(err, io.ErrUnexpectedEOF) },
	"drips":    func(status int, err error) bool { return status == http.StatusOK && err == nil },
	"hangs":    func(status int, err error) bool { return status == 0 && errors.Is(err, context.DeadlineExceeded) },
	"is ended": func(status int, err error) bool { return status == 0 && errors.Is(err, context.Canceled) },
}

// ill is a receiver that behaves as told.
type ill struct {
	mu     sync.Mutex
	manner string
	end    context.CancelFunc // of the caller's context
}

func (r *ill) tell(manner string, end context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.manner, r.end = manner, end
}

func (r *ill) told() (manner string, end context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.manner, r.end
}

func (r *ill) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	manner, end := r.told()
	switch manner {
	case "takes":
		w.WriteHeader(http.StatusNoContent)
	case "answers":
		_, _ = w.Write([]byte("thank you"))
	case "refuses":
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte("no"))
	case "cuts":
		panic(http.ErrAbortHandler)
	case "drips":
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	case "is ended":
		end()
		<-req.Context().Done()
	case "hangs":
		<-req.Context().Done()
	}
}

// What comes of an attempt does not depend on the one before it by the same sender,
// whichever two follow each other.
func TestAttemptsOfASenderAreTheirOwn(t *testing.T) {
	t.Parallel()
	for first := range manners {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			one := &ill{}
			r := newReceiver(t, one.ServeHTTP)
			e := endpoint(t, r.URL, func(c *Config) { c.Timeout = time.Second })
			e.answerTime = 50 * time.Millisecond
			s := e.Sender()
			defer s.Close()
			ctx, end := context.WithCancel(t.Context())
			for second := range manners {
				for n, manner := range []string{first, second} {
					if ctx.Err() != nil {
						ctx, end = context.WithCancel(t.Context())
					}
					one.tell(manner, end)
					sent := entry(t, uint64(n+1))
					if status, err := s.Attempt(ctx, sent); !manners[manner](status, err) {
						t.Errorf("one that %s after one that %s: %d, %v", manner, first, status, err)
					}
					got := r.deliveries()
					if want, err := Body(sent); err != nil || !bytes.Equal(got[len(got)-1].body, want) {
						t.Errorf("came\n%s\nnot\n%s", got[len(got)-1].body, want)
					}
				}
			}
			end()
		})
	}
}

// Many senders of one endpoint side by side do not share what is one's.
func TestSendersSideBySide(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, status(http.StatusNoContent))
	e := endpoint(t, r.URL)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			s := e.Sender()
			defer s.Close()
			for i := range 20 {
				if _, err := s.Attempt(t.Context(), entry(t, uint64(20*n+i+1))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	verifies, seen := verifier(t, testSecret), make(map[string]bool)
	for _, d := range r.deliveries() {
		if err := verifies.Verify(d.header, d.body, time.Now()); err != nil {
			t.Error(err)
		}
		seen[d.header.Get(HeaderID)] = true
	}
	if len(seen) != 160 {
		t.Errorf("%d events of 160 came", len(seen))
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent, end := context.WithCancel(t.Context())
		defer end()
		var d deadline
		defer d.end()
		ctx := d.begin(parent, time.Second)
		for range 5 { // each attempt has the whole time
			time.Sleep(900 * time.Millisecond) //nolint:forbidigo // fake time of synctest
			d.pass()
			if next := d.begin(parent, time.Second); next != ctx || next.Err() != nil {
				t.Fatalf("another context, or one that has ended: %v", context.Cause(next))
			}
		}
		d.pass()
		time.Sleep(time.Minute) //nolint:forbidigo // fake time of synctest
		if ctx.Err() != nil {
			t.Errorf("the time runs between attempts: %v", context.Cause(ctx))
		}

		ctx = d.begin(parent, time.Second)
		time.Sleep(time.Second) //nolint:forbidigo // fake time of synctest
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("after its time: %v", context.Cause(ctx))
		}
		d.pass()
		if ctx = d.begin(parent, time.Second); ctx.Err() != nil {
			t.Errorf("after one that was late: %v", context.Cause(ctx))
		}

		other, endOther := context.WithCancel(t.Context())
		was, ctx := ctx, d.begin(other, time.Second)
		if was.Err() == nil || ctx.Err() != nil {
			t.Errorf("with another parent: %v, %v", was.Err(), ctx.Err())
		}
		endOther()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("after its parent's end: %v", ctx.Err())
		}
	})
}
