package network

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/orderwire/orderwire/sources/network/networktest"
)

// clickService is a service with one link, of the program "p".
func clickService(t *testing.T, path string) *Service {
	t.Helper()
	s, err := Open(t.Context(), Config{DB: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddPublisher(t.Context(), Publisher{AppKey: "k", AppSecret: "s", Websites: []string{"w"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.PutTestProgram(t.Context(), TestProgram{ID: "p", Domains: []string{"e.com"}}); err != nil {
		t.Fatal(err)
	}
	err = s.store.change(t.Context(), func(c *change) error {
		_, err := c.link(t.Context(), linkRequest{publisher: 1, website: "w", target: "https://e.com/"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Service) countClicks(t *testing.T) (n int64) {
	t.Helper()
	if err := s.store.row(t.Context(), `SELECT COUNT(*) FROM clicks`, nil, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A redirect goes out while somebody else holds the database, and its click is
// there as soon as that one is done.
func TestRedirectDoesNotWaitForOthers(t *testing.T) {
	s := clickService(t, networktest.Database(t))
	defer s.Close()
	held, release := make(chan struct{}), make(chan struct{})
	var holder sync.WaitGroup
	holder.Go(func() {
		err := s.store.change(context.Background(), func(*change) error {
			close(held)
			<-release
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-held
	if err := s.clicks.settle(t.Context()); err != nil { // nothing is to be written
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/c/100001", nil))
	if w.Code != http.StatusFound || !strings.Contains(w.Header().Get("Location"), clickParam+"=") {
		t.Errorf("HTTP %d to %q", w.Code, w.Header().Get("Location"))
	}
	if n := s.countClicks(t); n != 0 {
		t.Errorf("%d clicks while the database is held", n)
	}
	close(release)
	holder.Wait()
	if err := s.clicks.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := s.countClicks(t); n != 1 {
		t.Errorf("%d clicks afterwards", n)
	}
}

// Closing writes what is left, and takes nothing more.
func TestClosingWritesClicks(t *testing.T) {
	path := networktest.Database(t)
	s := clickService(t, path)
	for i := range 3000 {
		if _, err := s.clicks.add(click{id: fmt.Sprint(i), link: 100001, publisher: 1, website: "w", program: "p"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.clicks.add(click{}); !errors.Is(err, errClicksClosed) {
		t.Errorf("a click after closing: %v", err)
	}
	again := clickService(t, path)
	defer again.Close()
	if n := again.countClicks(t); n != 3000 {
		t.Errorf("%d clicks, want 3000", n)
	}
}

// A transaction that fails is tried again, and what it had written after all
// is not doubled.
func TestClicksAreTriedAgain(t *testing.T) {
	s := clickService(t, networktest.Database(t))
	defer s.Close()
	failed := s.loseClicks(t)
	first, err := s.clicks.add(click{id: "a", link: 100001, publisher: 1, website: "w", program: "p"})
	if err != nil {
		t.Fatal(err)
	}
	<-failed
	s.rename(t, "gone", "clicks")
	<-first
	second, err := s.clicks.add(click{id: "a", link: 100001, publisher: 1, website: "w", program: "p"})
	if err != nil {
		t.Fatal(err)
	}
	<-second
	if n := s.countClicks(t); n != 1 {
		t.Errorf("%d clicks, want 1", n)
	}
}

// signals is a writer that tells of every line that is logged.
type signals chan<- struct{}

func (s signals) Write(p []byte) (int, error) {
	s <- struct{}{}
	return len(p), nil
}

func loggerTo(lines chan<- struct{}) *slog.Logger {
	return slog.New(slog.NewTextHandler(signals(lines), nil))
}

// loseClicks takes the table of clicks away. It is called gone then, and the
// channel tells of each time that a click was not written.
func (s *Service) loseClicks(t *testing.T) <-chan struct{} {
	t.Helper()
	s.rename(t, "clicks", "gone")
	failed := make(chan struct{}, 1000)
	s.clicks.logger = loggerTo(failed)
	return failed
}

func (s *Service) rename(t *testing.T, from, to string) {
	t.Helper()
	err := s.store.change(t.Context(), func(c *change) error { return c.exec(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to) })
	if err != nil {
		t.Fatal(err)
	}
}

// A report whose click is not written yet waits for it.
func TestReportWaitsForItsClick(t *testing.T) {
	s := clickService(t, networktest.Database(t))
	defer s.Close()
	if err := s.AddAdvertiser(t.Context(), Advertiser{Name: "Brand", AdsKey: "ads"}); err != nil {
		t.Fatal(err)
	}
	if err := s.PutTestProgram(t.Context(), TestProgram{ID: "own", Brand: "Brand"}); err != nil {
		t.Fatal(err)
	}
	failed := s.loseClicks(t)
	if _, err := s.clicks.add(click{id: "a", link: 100001, publisher: 1, website: "w", program: "own", at: s.unix()}); err != nil {
		t.Fatal(err)
	}
	<-failed
	answer := make(chan string, 1)
	go func() {
		body := `{"OrderId":"1","ClickId":"a","Amount":1,"TransactionTime":"2026-11-12T00:00:00Z"}`
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/ads/svc.service.orders.post", strings.NewReader(body)))
		answer <- w.Body.String()
	}()
	for len(s.clicks.queue) == 0 { // until it waits
		select {
		case a := <-answer:
			t.Fatalf("the report did not wait: %s", a)
		default:
			runtime.Gosched()
		}
	}
	s.rename(t, "gone", "clicks")
	if a := <-answer; !strings.HasPrefix(a, `{"Status":0,`) {
		t.Error(a)
	}
}
