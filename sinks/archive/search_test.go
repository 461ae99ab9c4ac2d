package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// search opens the archive of a test to look for events.
func search(tb failer, dir string) *Search {
	tb.Helper()
	s, err := OpenSearch(tb.Context(), dir)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// nextOf is what Next should find.
func nextOf(log []schema.Entry, key schema.OrderKey, from, until uint64) []schema.Entry {
	at := slices.IndexFunc(log, func(e schema.Entry) bool {
		return e.Event.Key() == key && e.Sequence >= from && e.Sequence <= until
	})
	if at < 0 {
		return nil
	}
	return log[at : at+1]
}

// Whatever the accounts, orders, batches and compactions: the next event of an order
// is found, with the bytes of [Events], as is each event by its id.
func TestSearchProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		log := drawLog(rt)
		if len(log) == 0 {
			return
		}
		w := &world{log: log, cfg: Config{Dir: dir, RollBytes: rapid.Int64Range(1000, 30000).Draw(rt, "roll bytes"), RollEvery: time.Hour}}
		w.live(rt, -1, false)
		s := search(rt, dir)
		defer func() { _ = s.Close() }()
		end := log[len(log)-1].Sequence + 2
		for i := range 6 {
			if i == 3 {
				if _, err := Compact(rt.Context(), CompactConfig{Dir: dir, Now: later}); err != nil {
					rt.Fatal(err)
				}
			}
			one := rapid.SampledFrom(log).Draw(rt, "an event")
			key := one.Event.Key()
			from := rapid.Uint64Range(0, end).Draw(rt, "from")
			until := rapid.Uint64Range(from, end).Draw(rt, "until")
			e, found, err := s.Next(rt.Context(), key, from, until)
			if err != nil {
				rt.Fatal(err)
			}
			var got []schema.Entry
			if found {
				got = append(got, e)
			}
			sameEntries(rt, nextOf(log, key, from, until), got)
		}
		some := rapid.SampledFrom(log).Draw(rt, "wanted")
		want := slices.DeleteFunc(slices.Clone(log), func(e schema.Entry) bool { return e.Event.ID != some.Event.ID })
		sameEntries(rt, want, replayOf(rt, EventsConfig{Dir: dir, IDs: []string{"none", some.Event.ID}}))
	})
}

// The next event of each order is found in a folder and in a bucket, behind any
// sequence, also by a search that was opened before a compaction.
func TestSearchInPlaces(t *testing.T) {
	t.Parallel()
	onPlaces(t, func(t *testing.T, fresh func(testing.TB) string) {
		dir := fresh(t)
		var log []schema.Entry
		for v := range uint64(3) {
			for n := range 4 {
				log = append(log, entry(t, uint64(len(log)+1), event([]string{"main", "second"}[n%2], n, v+1)))
			}
		}
		a := open(t, Config{Dir: dir})
		for batch := range slices.Chunk(log, 5) {
			write(t, a, batch)
		}
		s := search(t, dir)
		defer func() { _ = s.Close() }()
		findsAll := func() {
			t.Helper()
			end := log[len(log)-1].Sequence
			for _, one := range log {
				for from := range end + 2 {
					e, found, err := s.Next(t.Context(), one.Event.Key(), from, end)
					if err != nil {
						t.Fatal(err)
					}
					want := nextOf(log, one.Event.Key(), from, end)
					if found != (want != nil) {
						t.Fatalf("order %s from %d: found %v", one.Event.Key(), from, found)
					}
					if found {
						sameEntries(t, want, []schema.Entry{e})
					}
				}
			}
		}
		findsAll()
		if _, err := Compact(t.Context(), CompactConfig{Dir: dir, Now: later}); err != nil {
			t.Fatal(err)
		}
		findsAll()
		sameEntries(t, log[6:7], replayOf(t, EventsConfig{Dir: dir, IDs: []string{"none", log[6].Event.ID}}))
	})
}

// Several row groups and pages: what is asked for is found in each of them, and
// nothing where nothing is.
func TestSearchInLargeFiles(t *testing.T) {
	t.Parallel()
	log := busyLog(rowGroupRows + 300)
	for i := range log {
		log[i].Subject = log[i].Event.Key().Subject(log[i].Event.Type)
	}
	dir := archived(t, log)
	s := search(t, dir)
	defer func() { _ = s.Close() }()
	for i := 0; i < len(log); i += len(log) / 10 {
		e := &log[i]
		got, found, err := s.Next(t.Context(), e.Event.Key(), e.Sequence, e.Sequence)
		if err != nil || !found {
			t.Fatalf("event %d found: %v, error %v", e.Sequence, found, err)
		}
		sameEntries(t, log[i:i+1], []schema.Entry{got})
		key := e.Event.Key()
		key.OrderSn += "-none"
		if _, found, err := s.Next(t.Context(), key, 0, uint64(len(log))); err != nil || found {
			t.Errorf("an order that is none is found: %v, error %v", found, err)
		}
	}
	some := []schema.Entry{log[3], log[rowGroupRows+7], log[len(log)-1]}
	sameEntries(t, some, replayOf(t, EventsConfig{Dir: dir, IDs: []string{some[0].Event.ID, some[1].Event.ID, some[2].Event.ID}}))
}

// The manifest is read on when more is asked for than it covered, and what is not
// covered is named.
func TestSearchSeesNewCommits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, Config{Dir: dir, RollEvery: 24 * time.Hour})
	defer func() { _ = a.Close() }()
	s := search(t, dir)
	defer func() { _ = s.Close() }()
	missing := func(want string) {
		t.Helper()
		first, last, err := s.Missing(t.Context(), 2, 9)
		if got := fmt.Sprintf("%d-%d", first, last); err != nil || got != want {
			t.Errorf("missing %s, want %s, error %v", got, want, err)
		}
	}
	missing("2-9")
	log := busyLog(12)
	for i, want := range []string{"5-9", "9-9", "0-0"} {
		write(t, a, log[4*i:4*i+4])
		if err := a.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		missing(want)
		if got, found, err := s.Next(t.Context(), log[4*i].Event.Key(), log[4*i].Sequence, log[4*i].Sequence); err != nil || !found || got.Sequence != log[4*i].Sequence {
			t.Errorf("found %v, error %v", found, err)
		}
	}
	if len(s.covered) != 1 {
		t.Errorf("batches next to each other are kept apart: %v", s.covered)
	}
	if _, err := OpenSearch(t.Context(), t.TempDir()); !errors.Is(err, ErrNoArchive) {
		t.Errorf("a place without an archive: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Next(ctx, log[0].Event.Key(), 1, 12); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

// Compactions take files away while many look for events in them.
func TestSearchBesideCompactions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, Config{Dir: dir, RollEvery: 24 * time.Hour})
	var log []schema.Entry
	for n := range 24 {
		e := pipelinetest.Event("main", n%6, uint64(n/6+1))
		raw, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, schema.Entry{Sequence: uint64(n + 1), Stored: epoch, Subject: e.Key().Subject(e.Type), Raw: raw, Event: e})
	}
	if err := writeOneByOne(t, a, log); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	s := search(t, dir)
	defer func() { _ = s.Close() }()
	if _, _, err := s.Missing(t.Context(), 1, 24); err != nil { // it knows the files that go
		t.Fatal(err)
	}
	var looking sync.WaitGroup
	for range 4 {
		looking.Go(func() {
			for i := range log {
				got, found, err := s.Next(t.Context(), log[i].Event.Key(), log[i].Sequence, 24)
				if err != nil || !found || got.Sequence != log[i].Sequence || string(got.Raw) != string(log[i].Raw) {
					t.Errorf("event %d found: %v, error %v", log[i].Sequence, found, err)
				}
			}
		})
	}
	if _, err := Compact(t.Context(), CompactConfig{Dir: dir, Now: later}); err != nil {
		t.Error(err)
	}
	looking.Wait()
	if e, found, err := s.Next(t.Context(), log[0].Event.Key(), 2, 24); err != nil || !found || e.Sequence != 7 {
		t.Errorf("after the compaction: %d, found %v, error %v", e.Sequence, found, err)
	}
}
