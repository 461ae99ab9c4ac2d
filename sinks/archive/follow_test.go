package archive

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a Follower that notes how many commits it has found.
type recorder struct {
	dir  string
	fail error // of every run, nil for none
	hang bool  // until its context ends
	runs []int // commits found, by run
}

func (r *recorder) Follow(ctx context.Context) error {
	all, err := ReadManifest(ctx, r.dir)
	if err != nil {
		return err
	}
	r.runs = append(r.runs, len(all))
	if r.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return r.fail
}

func (r *recorder) found() int {
	synctest.Wait()
	if len(r.runs) == 0 {
		return -1
	}
	return r.runs[len(r.runs)-1]
}

func TestFollowerRunsAfterEachCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{dir: t.TempDir()}
		log := entries(t, 9)
		a := open(t, Config{Dir: r.dir, Follower: r})
		if n := r.found(); n != 0 {
			t.Errorf("the run at Open found %d commits", n)
		}
		for i := range 3 {
			write(t, a, log[3*i:3*i+3])
			if n := r.found(); n != i+1 {
				t.Errorf("%d commits found after commit %d", n, i+1)
			}
			if s := a.Stats(); s.Followed != uint64(i+1) || s.Behind != "" {
				t.Errorf("stats %+v after commit %d", s, i+1)
			}
		}
		if err := a.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.found(); len(r.runs) != 4 {
			t.Errorf("runs %v; a Flush without events needs none", r.runs)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		again := &recorder{dir: r.dir}
		b := open(t, Config{Dir: r.dir, Follower: again})
		if n := again.found(); n != 3 || b.Stats().Followed != 3 {
			t.Errorf("the run at Open found %d commits, stats %+v", n, b.Stats())
		}
		_ = b.Close()
	})
}

func TestFollowerThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{dir: t.TempDir(), fail: errors.New("the catalog is away")}
		log := entries(t, 6)
		a := open(t, Config{Dir: r.dir, Follower: r})
		write(t, a, log[:3])
		write(t, a, log[3:])
		if n := r.found(); n != 2 {
			t.Errorf("%d commits found", n)
		}
		if s := a.Stats(); s.Followed != 0 || s.Behind != "the catalog is away" || s.Commits != 2 {
			t.Errorf("stats %+v", s)
		}
		r.fail = nil
		if err := a.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.found()
		if s := a.Stats(); s.Followed != 2 || s.Behind != "" {
			t.Errorf("stats %+v after a Flush", s)
		}
		_ = a.Close()
	})
}

func TestFollowerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{dir: t.TempDir(), hang: true}
		a := open(t, Config{Dir: r.dir, Follower: r})
		if n := r.found(); n != 0 { // otherwise the run may begin behind the commit, and none is due after it
			t.Errorf("the run at Open found %d commits", n)
		}
		write(t, a, entries(t, 3))
		if s := a.Stats(); s.Commits != 1 {
			t.Errorf("stats %+v", s)
		}
		time.Sleep(followWithin) //nolint:forbidigo // fake time of synctest
		synctest.Wait()
		if s := a.Stats(); !strings.Contains(s.Behind, "deadline") || len(r.runs) != 2 {
			t.Errorf("stats %+v after %v, runs %v", s, followWithin, r.runs)
		}
		began := time.Now()
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != lastFollowWithin {
			t.Errorf("Close took %v", took)
		}
	})
}
