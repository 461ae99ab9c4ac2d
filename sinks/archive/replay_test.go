package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// replayOf reads an archive in the order of the log.
func replayOf(tb failer, cfg EventsConfig) []schema.Entry {
	tb.Helper()
	var all []schema.Entry
	for e, err := range Events(tb.Context(), cfg) {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// sameEntries fails unless both are the same entries, as far as an archive keeps
// them.
func sameEntries(tb failer, want, got []schema.Entry) {
	tb.Helper()
	if len(want) != len(got) {
		tb.Errorf("%d entries, want %d", len(got), len(want))
		return
	}
	for i := range want {
		e := want[i].Event
		e.Data.ObservedAt = e.Data.ObservedAt.Truncate(time.Microsecond)
		e.Time = e.Data.ObservedAt
		raw, err := e.AppendJSON(nil)
		if err != nil {
			tb.Fatal(err)
		}
		g := got[i]
		if g.Sequence != want[i].Sequence || !g.Stored.Equal(want[i].Stored.Truncate(time.Microsecond)) ||
			g.Subject != want[i].Subject || string(g.Raw) != string(raw) || asJSON(tb, g.Event) != asJSON(tb, e) {
			tb.Errorf("entry %d is\n%d %s %s %s\nwant\n%d %s %s %s", i, g.Sequence, g.Stored, g.Subject, g.Raw,
				want[i].Sequence, want[i].Stored, want[i].Subject, raw)
		}
	}
}

// Whatever the accounts, batches and memory: the log comes back in its order,
// and every range and filter gives just its part.
func TestEventsProperty(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		log := drawLog(rt)
		if len(log) == 0 {
			return
		}
		w := &world{log: log, cfg: Config{Dir: dir, RollBytes: rapid.Int64Range(1000, 30000).Draw(rt, "roll bytes"), RollEvery: time.Hour}}
		w.live(rt, -1, false)
		cfg := EventsConfig{Dir: dir, Temp: temp, Memory: rapid.Int64Range(1, 20000).Draw(rt, "memory")}
		sameEntries(rt, log, replayOf(rt, cfg))

		end := log[len(log)-1].Sequence + 2
		cfg.From, cfg.Until = rapid.Uint64Range(0, end).Draw(rt, "from"), rapid.Uint64Range(0, end).Draw(rt, "until")
		if rapid.Bool().Draw(rt, "by time") {
			cfg.Since = epoch.Add(time.Duration(rapid.IntRange(-3, 20).Draw(rt, "since")) * time.Second)
			cfg.Before = epoch.Add(time.Duration(rapid.IntRange(0, 50).Draw(rt, "before")) * time.Second)
		}
		some := log[rapid.IntRange(0, len(log)-1).Draw(rt, "an event")].Event.Key()
		cfg.Account = rapid.SampledFrom([]string{"", some.Account}).Draw(rt, "account")
		cfg.Program = rapid.SampledFrom([]string{"", some.Program}).Draw(rt, "program")
		cfg.Order = rapid.SampledFrom([]string{"", some.OrderSn}).Draw(rt, "order")
		want := slices.DeleteFunc(slices.Clone(log), func(e schema.Entry) bool {
			k := e.Event.Key()
			return e.Sequence < cfg.From || cfg.Until > 0 && e.Sequence > cfg.Until ||
				cfg.Account != "" && k.Account != cfg.Account || cfg.Program != "" && k.Program != cfg.Program ||
				cfg.Order != "" && k.OrderSn != cfg.Order ||
				!cfg.Since.IsZero() && (e.Stored.Before(cfg.Since) || !e.Stored.Before(cfg.Before))
		})
		sameEntries(rt, want, replayOf(rt, cfg))
	})
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files %v stay, error %v", left, err)
	}
}

// What a real log holds and what comes back of the archive are the same bytes.
func TestEventsAreTheMessagesOfTheLog(t *testing.T) {
	t.Parallel()
	log := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	publisher := log.Publisher()
	for v := uint64(1); v <= 3; v++ {
		for n := range 20 {
			e := pipelinetest.Event([]string{"main", "a.b/Ü"}[n%2], n, v)
			e.Data.ObservedAt = e.Data.ObservedAt.Add(time.Duration(n) * 1001 * time.Microsecond)
			e.Data.Changes = append(e.Data.Changes, schema.Change{Path: "/Status", From: []byte(`"<&>"`), To: []byte(`{"a":[1.50]}`)})
			e = schema.NewEvent(e.Type, e.Data)
			e.Extensions = []byte(`{"traceparent":"00-ab"}`)
			expected := uint64(0)
			if v > 1 {
				expected = uint64(n+1) + 20*(v-2)
			}
			msg, err := pipeline.NewMessage(&e, expected, 7)
			if err != nil {
				t.Fatal(err)
			}
			if err := publisher.Publish(pipeline.Topic, msg); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, err := log.Follow(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want []schema.Entry
	for len(want) < 60 {
		e, err := pipeline.ReadEntry(<-in)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, e)
	}
	got := replayOf(t, EventsConfig{Dir: archived(t, want)})
	for i := range want {
		want[i].Stored = want[i].Stored.Truncate(time.Microsecond)
		if i < len(got) && !reflect.DeepEqual(want[i], got[i]) {
			t.Errorf("the log holds\n%+v\n%s\nthe archive\n%+v\n%s", want[i], want[i].Raw, got[i], got[i].Raw)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d entries, want %d", len(got), len(want))
	}
}

// Files outside of the range are not opened, nor those of other accounts.
func TestEventsOpensOnlyWhatItNeeds(t *testing.T) {
	t.Parallel()
	log := entries(t, 12)
	dir := t.TempDir()
	a := open(t, Config{Dir: dir})
	for part := range slices.Chunk(log, 4) {
		write(t, a, part)
	}
	for _, f := range Live(commits(t, dir)) {
		if f.First < 5 || f.First > 8 || accountOf(f.Path) != "main" {
			if err := os.Remove(filepath.Join(dir, f.Path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := replayOf(t, EventsConfig{Dir: dir, From: 5, Until: 8, Account: "main"})
	sameEntries(t, []schema.Entry{log[4], log[6]}, got)
	for _, err := range Events(t.Context(), EventsConfig{Dir: dir, From: 5}) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing file gives %v", err)
		}
	}
}

func TestEventsRefusesWhatContradictsItself(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(dir string, files []File) error // files of sequences 1 to 4 and 5 to 8
		want  string
	}{
		{"an older file in the place of a newer", func(dir string, files []File) error {
			return putCopy(filepath.Join(dir, files[0].Path), filepath.Join(dir, files[1].Path))
		}, "and the manifest says 5 to 8"},
		{"a file of fewer events", func(dir string, files []File) error {
			other := archived(t, []schema.Entry{entry(t, 5, event("main", 5, 1))})
			return putCopy(filepath.Join(other, visible(t, other)[0]), filepath.Join(dir, files[1].Path))
		}, "has 1 rows, and the manifest counts 4"},
		{"a doubled sequence", func(dir string, files []File) error {
			twice := []schema.Entry{entry(t, 5, event("main", 5, 1)), entry(t, 6, event("main", 6, 1)), entry(t, 6, event("main", 7, 1)), entry(t, 8, event("main", 8, 1))}
			other := t.TempDir()
			a := open(t, Config{Dir: other})
			for i := range twice {
				a.buffer.add(&twice[i])
			}
			a.taken = 8
			write(t, a, nil)
			return putCopy(filepath.Join(other, visible(t, other)[0]), filepath.Join(dir, files[1].Path))
		}, "sequence 6 stands in it more than once"},
		{"no Parquet file", func(dir string, files []File) error {
			return os.WriteFile(filepath.Join(dir, files[1].Path), []byte("PAR1"), 0o600)
		}, "is no Parquet file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			a := open(t, Config{Dir: dir})
			for _, first := range []uint64{1, 5} {
				var log []schema.Entry
				for n := range uint64(4) {
					log = append(log, entry(t, first+n, event("main", int(first+n), 1)))
				}
				write(t, a, log)
			}
			if err := tt.spoil(dir, Live(commits(t, dir))); err != nil {
				t.Fatal(err)
			}
			var last error
			for e, err := range Events(t.Context(), EventsConfig{Dir: dir}) {
				if last = err; err == nil && e.Sequence > 6 {
					t.Errorf("sequence %d is handed over", e.Sequence)
				}
			}
			if last == nil || !strings.Contains(last.Error(), tt.want) {
				t.Errorf("error %v", last)
			}
		})
	}
}

func putCopy(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// A reader that stops early, or is stopped, leaves no temporary file, and
// memory stays bounded: what is beyond it is in files.
func TestEventsStopsAnywhere(t *testing.T) {
	t.Parallel()
	log := entries(t, 200)
	dir, temp := archived(t, log), t.TempDir()
	for stop := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		for e, err := range Events(ctx, EventsConfig{Dir: dir, Temp: temp, Memory: 5000}) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				break
			}
			if n++; e.Sequence != uint64(n) {
				t.Fatalf("sequence %d as number %d", e.Sequence, n)
			}
			if n == stop {
				if stop%2 == 0 {
					break
				}
				cancel()
			}
		}
		cancel()
		if n != max(stop, min(n, 1)) && n != 200 {
			t.Errorf("%d events, stopped at %d", n, stop)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files %v stay, error %v", left, err)
	}
	for _, err := range Events(t.Context(), EventsConfig{Dir: dir, Temp: filepath.Join(temp, "none"), Memory: 5000}) {
		if err == nil || !strings.Contains(err.Error(), "choose another folder") {
			t.Errorf("without a folder: %v", err)
		}
	}
}

func TestSorterHoldsNoMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	s := &sorter{limit: 10 * (100 + replayedBytes), temp: t.TempDir()}
	defer func() { _ = s.close() }()
	for n := range uint64(1000) {
		sequence := n*7919%1000 + 1
		if err := s.add(replayed{sequence: sequence, stored: int64(sequence), raw: fmt.Appendf(nil, "%0100d", sequence)[:100:100]}); err != nil {
			t.Fatal(err)
		}
		if s.held > s.limit {
			t.Fatalf("%d bytes are held", s.held)
		}
	}
	for n := uint64(1); n <= 1000; n++ {
		e, err := s.popNext(t)
		if err != nil || e.sequence != n || e.stored != int64(n) || string(e.raw) != fmt.Sprintf("%0100d", n) {
			t.Fatalf("%d: %+v, error %v", n, e, err)
		}
	}
	if s.before(math.MaxUint64) || s.held != 0 {
		t.Errorf("%d bytes stay", s.held)
	}
}

func (s *sorter) popNext(tb testing.TB) (replayed, error) {
	tb.Helper()
	if !s.before(math.MaxUint64) {
		tb.Fatal("nothing is left")
	}
	return s.pop()
}

func TestMissing(t *testing.T) {
	t.Parallel()
	all := []Commit{{First: 5, Last: 10}, {First: 11, Last: 20}, {First: 21, Last: 20, Replaces: []string{"x"}}, {First: 31, Last: 40}}
	for _, tt := range []struct{ from, until, first, last uint64 }{
		{5, 20, 0, 0}, {7, 12, 0, 0}, {1, 3, 1, 3}, {1, 7, 1, 4}, {19, 21, 21, 21}, {15, 40, 21, 30}, {31, 50, 41, 50}, {50, 60, 50, 60}, {31, 40, 0, 0},
	} {
		if first, last := Missing(all, tt.from, tt.until); first != tt.first || last != tt.last {
			t.Errorf("of %d to %d: %d to %d, want %d to %d", tt.from, tt.until, first, last, tt.first, tt.last)
		}
	}
}

// compactLast puts one file in the place of the last two, as a compaction does.
func compactLast(tb testing.TB, dir string, log []schema.Entry) {
	tb.Helper()
	all := commits(tb, dir)
	live, head := Live(all), all[len(all)-1]
	gone := live[len(live)-2:]
	other := archived(tb, log)
	merged := Live(commits(tb, other))[0]
	c := Commit{
		Format: formatCompaction, Number: head.Number + 1, Previous: head.SHA256, First: head.Last + 1, Last: head.Last,
		Files: []File{merged}, Replaces: []string{gone[0].Path, gone[1].Path}, Staged: ownDir + "/staged",
		Totals: head.Totals.plus([]File{merged}).minus(gone), Writer: WriterVersion,
	}
	document, err := c.encode()
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, manifestName(c.Number)), document, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := putCopy(filepath.Join(other, merged.Path), filepath.Join(dir, merged.Path)); err != nil {
		tb.Fatal(err)
	}
	for _, f := range gone {
		if err := os.Remove(filepath.Join(dir, f.Path)); err != nil {
			tb.Fatal(err)
		}
	}
}

// Files that are compacted while the archive is read are read from what has come
// in their place.
func TestEventsBesideACompaction(t *testing.T) {
	t.Parallel()
	var log []schema.Entry
	for n := range 12 {
		log = append(log, entry(t, uint64(n+1), event("main", n, 1)))
	}
	for _, at := range []uint64{1, 4, 6, 12} {
		dir := t.TempDir()
		a := open(t, Config{Dir: dir})
		for part := range slices.Chunk(log, 4) {
			write(t, a, part)
		}
		var got []schema.Entry
		for e, err := range Events(t.Context(), EventsConfig{Dir: dir}) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, e); e.Sequence == at {
				compactLast(t, dir, log[4:])
			}
		}
		sameEntries(t, log, got)
		sameEntries(t, log, replayOf(t, EventsConfig{Dir: dir, Memory: 3000}))
	}
}
