package archive

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// gate holds the changes on disk of an archive until it opens, and then answers
// for them.
type gate struct {
	reached chan struct{} // closed at the first change that waits
	open    chan struct{} // closed by the test
	err     error         // of the first change that waited
}

// gated opens an archive whose batches have two events.
func gated(t *testing.T, err error) (*Archive, *gate, []schema.Entry) {
	t.Helper()
	log, dir := entries(t, 8), t.TempDir()
	place := &folder{root: dir}
	a, errOpen := openPlace(t.Context(), Config{Dir: dir, RollBytes: int64(len(log[0].Raw)) + 1}, place)
	if errOpen != nil {
		t.Fatal(errOpen)
	}
	t.Cleanup(func() { _ = a.Close() })
	g := &gate{reached: make(chan struct{}), open: make(chan struct{}), err: err}
	first := true
	place.before = func(string, string) error {
		if !first {
			return nil
		}
		first = false
		close(g.reached)
		<-g.open
		return g.err
	}
	return a, g, log
}

// While a batch is being committed, the next one grows.
func TestWriteBesideACommit(t *testing.T) {
	t.Parallel()
	a, g, log := gated(t, nil)
	if err := a.Write(t.Context(), log[:3]); err != nil {
		t.Fatal(err)
	}
	<-g.reached
	if s := a.Stats(); s.Commits != 0 || s.Buffered != 1 {
		t.Errorf("figures %+v", s)
	}
	close(g.open)
	write(t, a, log[3:])
	if got, want := ranges(t, a.cfg.Dir), [][2]uint64{{1, 2}, {3, 4}, {5, 6}, {7, 8}}; !slices.Equal(got, want) {
		t.Errorf("commits %v, not %v", got, want)
	}
	exactlyOnce(t, a.cfg.Dir, log)
}

// The error of a commit comes from a later Write, also from one that ends no
// batch, or from Flush. What was written behind it is forgotten.
func TestErrorOfACommitUnderWay(t *testing.T) {
	t.Parallel()
	calls := map[string]func(context.Context, *Archive, []schema.Entry) error{
		"Write": func(ctx context.Context, a *Archive, log []schema.Entry) error { return a.Write(ctx, log[3:3]) },
		"cut":   func(ctx context.Context, a *Archive, log []schema.Entry) error { return a.Write(ctx, log[3:]) },
		"Flush": func(ctx context.Context, a *Archive, _ []schema.Entry) error { return a.Flush(ctx) },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, g, log := gated(t, syscall.ENOSPC)
			if err := a.Write(t.Context(), log[:3]); err != nil {
				t.Fatal(err)
			}
			close(g.open)
			<-a.underway.done
			var storage *StorageError
			if err := call(t.Context(), a, log); !errors.As(err, &storage) {
				t.Fatalf("error %v", err)
			}
			if err := a.Write(t.Context(), log[3:]); !errors.Is(err, ErrPosition) {
				t.Errorf("Write behind the failure: %v", err)
			}
			if s := a.Stats(); s.Buffered != 0 {
				t.Errorf("figures %+v", s)
			}
			if position, err := a.Position(t.Context()); err != nil || position != 0 {
				t.Fatalf("position %d, %v", position, err)
			}
			write(t, a, log)
			exactlyOnce(t, a.cfg.Dir, log)
		})
	}
}

// A commit outlives the context of the Write that began it, not that of the
// Flush that waits for it.
func TestCommitUnderWayAndContexts(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]bool{"Write": false, "Flush": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, g, log := gated(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := a.Write(ctx, log[:2]); err != nil {
				t.Fatal(err)
			}
			<-g.reached
			cancel()
			if !given {
				close(g.open)
				if err := a.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				exactlyOnce(t, a.cfg.Dir, log[:2])
				return
			}
			a.underway.cancel = opening(a.underway.cancel, g)
			if err := a.Flush(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v", err)
			}
			if got := visible(t, a.cfg.Dir); len(got) != 0 {
				t.Errorf("readers see %v", got)
			}
		})
	}
}

// opening lets the commit on when it is given up.
func opening(cancel context.CancelFunc, g *gate) context.CancelFunc {
	return func() {
		cancel()
		close(g.open)
	}
}

// Close gives a commit up, waits for its end, and lets go of the folder then.
func TestCloseGivesACommitUp(t *testing.T) {
	t.Parallel()
	a, g, log := gated(t, nil)
	if err := a.Write(t.Context(), log[:2]); err != nil {
		t.Fatal(err)
	}
	<-g.reached
	a.underway.cancel = opening(a.underway.cancel, g)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if got := visible(t, a.cfg.Dir); len(got) != 0 {
		t.Errorf("readers see %v", got)
	}
	next := open(t, Config{Dir: a.cfg.Dir})
	write(t, next, log)
	exactlyOnce(t, a.cfg.Dir, log)
}
