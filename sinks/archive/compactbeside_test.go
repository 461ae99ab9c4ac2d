package archive

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// once runs something ahead of the first change that is an entry of the manifest,
// and then crashes the process so many changes later, 0 for never.
type once struct {
	do      func()
	crashIn int
	ops     []string // without those of what was done
	done    bool
}

func (o *once) before(op, path string) error {
	if !o.done && isEntry(op, path) {
		o.done = true
		o.do()
	}
	if o.done && o.crashIn > 0 {
		if o.crashIn--; o.crashIn == 0 {
			o.crashIn = 1
			return errCrash
		}
	}
	o.ops = append(o.ops, op+" "+path)
	return nil
}

// isEntry reports whether a change makes an entry of the manifest visible.
func isEntry(op, path string) bool {
	return strings.Contains(path, manifestDir+"/") && (op == "link to" || op == "write")
}

// created counts the files of events that were begun.
func (o *once) created() int {
	n := 0
	for _, op := range o.ops {
		if strings.HasPrefix(op, "create ") && !strings.HasSuffix(op, ".json.tmp") {
			n++
		}
	}
	return n
}

// compacts merges everything in the middle of something else.
func compacts(t *testing.T, dir string, partitions int) func() {
	return func() {
		done, err := compactAt(t.Context(), CompactConfig{Dir: dir, Now: later}, nil)
		noError(t, err)
		if done.Partitions != partitions {
			t.Errorf("done %+v", done)
		}
	}
}

// A compaction's entry comes between an archiver's intent and its entry: that one
// is numbered anew, and no file is written again.
func TestCompactionBeforeAnEntry(t *testing.T) {
	t.Parallel()
	onPlaces(t, func(t *testing.T, fresh func(testing.TB) string) {
		dir, log := chain(t, fresh(t)), entries(t, 12)
		o := &once{do: compacts(t, dir, 2)}
		noError(t, runUntil(t.Context(), Config{Dir: dir}, log, 3, nil, o.before))
		if n := o.created(); n != 2 {
			t.Errorf("%d files begun: %v", n, o.ops)
		}
		all := commits(t, dir)
		if last := all[len(all)-1]; len(all) != 6 || last.First != 10 || last.Last != 12 || last.IsCompaction() || last.Format != 1 {
			t.Errorf("commits %v", ranges(t, dir))
		}
		sameNames(t, dir)
		tidy(t, dir)
		readable(t, dir, log)
	})
}

// The archiver that is in that place may crash at any of its next changes.
func TestCrashOfAnArchiverBehindACompaction(t *testing.T) {
	t.Parallel()
	onPlaces(t, func(t *testing.T, fresh func(testing.TB) string) {
		for in := 1; in < 9; in++ {
			dir, log := chain(t, fresh(t)), entries(t, 12)
			o := &once{do: compacts(t, dir, 2), crashIn: in}
			err := runUntil(t.Context(), Config{Dir: dir}, log, 3, nil, o.before)
			if err == nil && in > 2 {
				break // no change is left
			}
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			finds(t, verify(t, VerifyConfig{Dir: dir}))
			_, err = compactAt(t.Context(), CompactConfig{Dir: dir, Now: later}, nil)
			noError(t, err)
			noError(t, runUntil(t.Context(), Config{Dir: dir}, log, 3, nil, nil))
			sameNames(t, dir)
			tidy(t, dir)
			readable(t, dir, log)
		}
	})
}

// An archiver's entry comes between the staging of a compaction and its entry.
func TestEntryBeforeACompaction(t *testing.T) {
	t.Parallel()
	onPlaces(t, func(t *testing.T, fresh func(testing.TB) string) {
		dir, log := chain(t, fresh(t)), entries(t, 12)
		o := &once{do: func() { noError(t, runUntil(t.Context(), Config{Dir: dir}, log, 3, nil, nil)) }}
		done, err := compactAt(t.Context(), CompactConfig{Dir: dir, Now: later}, o.before)
		noError(t, err)
		if done.FilesBefore != 6 || done.Partitions != 2 || o.created() != 2 {
			t.Errorf("done %+v, changes %v", done, o.ops)
		}
		if got := commits(t, dir); len(got) != 6 || got[3].IsCompaction() || !got[4].IsCompaction() || got[4].First != 13 || got[4].Last != 12 {
			t.Errorf("commits %v", ranges(t, dir))
		}
		sameNames(t, dir)
		tidy(t, dir)
		readable(t, dir, log)
	})
}

// A restart beside a compaction leaves its stage and its drafts alone.
func TestRestartBesideACompaction(t *testing.T) {
	t.Parallel()
	onPlaces(t, func(t *testing.T, fresh func(testing.TB) string) {
		dir, log := chain(t, fresh(t)), entries(t, 9)
		o := &once{do: func() {
			a := open(t, Config{Dir: dir})
			noError(t, a.Close())
		}}
		_, err := compactAt(t.Context(), CompactConfig{Dir: dir, Now: func() time.Time { return time.Now().AddDate(1, 0, 0) }}, o.before)
		noError(t, err)
		sameNames(t, dir)
		tidy(t, dir)
		readable(t, dir, log)
	})
}

// Of two compactions the second is refused on a disk; in a bucket one is overtaken,
// and leaves nothing.
func TestTwoCompactions(t *testing.T) {
	t.Parallel()
	onPlaces(t, func(t *testing.T, fresh func(testing.TB) string) {
		dir, log := chain(t, fresh(t)), entries(t, 9)
		var inner error
		o := &once{do: func() { _, inner = compactAt(t.Context(), CompactConfig{Dir: dir, Now: later}, nil) }}
		done, err := compactAt(t.Context(), CompactConfig{Dir: dir, Now: later}, o.before)
		noError(t, err)
		var locked *LockedError
		switch {
		case isS3(dir) && (inner != nil || done.Overtaken != 2 || done.Partitions != 0 || done.BytesAfter != 0):
			t.Errorf("done %+v, %v", done, inner)
		case !isS3(dir) && (!errors.As(inner, &locked) || locked.Work != "compaction" || !strings.Contains(inner.Error(), "let it end first") || done.Overtaken != 0):
			t.Errorf("done %+v, %v", done, inner)
		}
		if n := len(commits(t, dir)); n != 5 {
			t.Errorf("%d commits", n)
		}
		sameNames(t, dir)
		tidy(t, dir)
		readable(t, dir, log)
	})
}

// The files may also go before the overtaken one has read them.
func TestOvertakenWhileReading(t *testing.T) {
	t.Parallel()
	dir, done := chain(t, newPrefix(t)), false
	c, err := compactAt(t.Context(), CompactConfig{Dir: dir, Now: later}, func(op, _ string) error {
		if op == "create" && !done {
			done = true
			compacts(t, dir, 2)()
		}
		return nil
	})
	noError(t, err)
	if c.Overtaken != 2 || c.Partitions != 0 {
		t.Errorf("done %+v", c)
	}
	sameNames(t, dir)
	tidy(t, dir)
	readable(t, dir, entries(t, 9))
}

// In a bucket, what an unfinished compaction has staged may be another one's: it
// stays for a day, and one that is that slow does not record it.
func TestOrphansInABucket(t *testing.T) {
	t.Parallel()
	dir := chain(t, newPrefix(t))
	before := tree(t, dir)
	_, err := compactAt(t.Context(), CompactConfig{Dir: dir, Now: later}, func(op, path string) error {
		if isEntry(op, path) {
			return errCrash
		}
		return nil
	})
	if !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	left := tree(t, dir)
	if len(left) != len(before)+1 {
		t.Fatalf("%d files, and %d before", len(left), len(before))
	}
	for age, stays := range map[time.Duration]bool{orphanAfter: true, orphanAfter + time.Second: false} {
		there := planted(t, newPrefix(t), left)
		_, err := finishStaged(t.Context(), testBucket(t, there), later().Add(age))
		noError(t, err)
		if got := len(tree(t, there)) == len(left); got != stays {
			t.Errorf("after %s it stays: %v", age, got)
		}
	}
	clock := later()
	_, err = compactAt(t.Context(), CompactConfig{Dir: dir, Now: func() time.Time { return clock }}, func(op, _ string) error {
		if op == "complete" {
			clock = clock.Add(staleAfter + time.Second)
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "merging has taken more than 12h") {
		t.Errorf("error %v", err)
	}
	sameTree(t, left, tree(t, dir))
}

// Beside an archiver at work and compactions, readers find nothing wrong.
func TestReadersBesideAll(t *testing.T) {
	t.Parallel()
	onPlaces(t, func(t *testing.T, fresh func(testing.TB) string) {
		dir, log := fresh(t), entries(t, 24)
		a := open(t, Config{Dir: dir})
		writing, compacting := make(chan error, 1), make(chan error, 1)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			writing <- writeOneByOne(t, a, log)
		}()
		go func() {
			for {
				if _, err := compactAt(t.Context(), CompactConfig{Dir: dir, Now: later}, nil); err != nil {
					compacting <- err
					return
				}
				select {
				case <-ended:
					compacting <- nil
					return
				default:
				}
			}
		}()
		for done := false; !done; {
			select {
			case <-ended:
				done = true
			default:
			}
			finds(t, verify(t, VerifyConfig{Dir: dir, Log: logOf{log: log}}))
			readsAscending(t, dir)
		}
		noError(t, errors.Join(<-writing, <-compacting))
		sameNames(t, dir)
		tidy(t, dir)
		readable(t, dir, log)
	})
}

func writeOneByOne(t *testing.T, a *Archive, log []schema.Entry) error {
	for i := range log {
		if err := errors.Join(a.Write(t.Context(), log[i:i+1]), a.Flush(t.Context())); err != nil {
			return err
		}
	}
	return nil
}

// readsAscending reads all rows, and begins again when a file has been replaced.
func readsAscending(t *testing.T, dir string) {
	t.Helper()
again:
	var sequences []int64
	for row, err := range Rows(t.Context(), dir) {
		if errors.Is(err, ErrReplaced) {
			goto again
		}
		noError(t, err)
		sequences = append(sequences, row.Sequence)
	}
	slices.Sort(sequences)
	for i, n := range sequences {
		if n != int64(i+1) {
			t.Errorf("sequences %v", sequences)
			return
		}
	}
}

// In a bucket, a second archiver by mistake puts files of the same batch into their
// places again when a compaction has removed them already: it removes them, or the
// next start does if it crashes.
func TestLoserBehindACompaction(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"intents", "complete"} {
		for _, crash := range []bool{false, true} {
			if at == "complete" && crash {
				continue // the winner has removed the intent: verify names the files
			}
			dir, log, done := chain(t, newPrefix(t)), entries(t, 12), false
			err := runUntil(t.Context(), Config{Dir: dir}, log, 3, nil, func(op, path string) error {
				if !done && strings.Contains(op+" "+path, at) {
					done = true
					noError(t, runUntil(t.Context(), Config{Dir: dir}, log, 3, nil, nil))
					compacts(t, dir, 2)()
				}
				if crash && isEntry(op, path) {
					return errCrash
				}
				return nil
			})
			if crash {
				err = runUntil(t.Context(), Config{Dir: dir}, log, 3, nil, nil)
			}
			noError(t, err)
			sameNames(t, dir)
			tidy(t, dir)
			readable(t, dir, log)
		}
	}
}
