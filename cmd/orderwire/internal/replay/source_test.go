package replay_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
)

// shrinking is a log of some length that loses its oldest events.
type shrinking struct {
	last  uint64
	first atomic.Uint64
}

func newShrinking(first, last uint64) *shrinking {
	l := &shrinking{last: last}
	l.first.Store(first)
	return l
}

func (l *shrinking) Bounds(context.Context) (first, last uint64, err error) {
	return l.first.Load(), l.last, nil
}

// Follow gives one event at a time, so that it is the reader who decides when
// the next is asked for.
func (l *shrinking) Follow(ctx context.Context, after uint64) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	go func() {
		defer close(out)
		for next := after + 1; next <= l.last; next++ {
			next = max(next, l.first.Load())
			e := stored(next)
			m := message.NewMessage(e.Event.ID, e.Raw)
			m.Metadata.Set(pipeline.MetaSequence, strconv.FormatUint(next, 10))
			m.Metadata.Set(pipeline.MetaStored, strconv.FormatInt(e.Stored.UnixNano(), 10))
			select {
			case out <- m:
			case <-ctx.Done():
				return
			}
		}
		<-ctx.Done()
	}()
	return out, nil
}

// stored is the event of a sequence.
func stored(sequence uint64) schema.Entry {
	event := pipelinetest.Event("main", int(sequence), 1)
	raw, err := event.AppendJSON(nil)
	if err != nil {
		panic(err)
	}
	return schema.Entry{Sequence: sequence, Stored: moment(sequence), Raw: raw, Event: event}
}

func moment(sequence uint64) time.Time {
	return pipelinetest.Epoch.Add(time.Duration(sequence) * time.Minute)
}

// archived fills an archive with ranges, a commit each, and returns its folder.
func archived(tb testing.TB, ranges ...[2]uint64) string {
	tb.Helper()
	dir := tb.TempDir()
	a, err := archive.Open(tb.Context(), archive.Config{Dir: dir, RollEvery: 24 * time.Hour})
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range ranges {
		var batch []schema.Entry
		for sequence := r[0]; sequence <= r[1]; sequence++ {
			batch = append(batch, stored(sequence))
		}
		if err := errors.Join(a.Write(tb.Context(), batch), a.Flush(tb.Context())); err != nil {
			tb.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// read returns the sequences of a range, and the error. each is called for every
// event.
func read(tb testing.TB, s *replay.Source, r replay.Range, each func(sequence uint64)) (all []uint64, err error) {
	tb.Helper()
	s.Logger = slog.New(slog.NewTextHandler(tb.Output(), nil))
	for e, err := range s.Entries(tb.Context(), r, func(uint64) {}) {
		if err != nil {
			return all, err
		}
		all = append(all, e.Sequence)
		if each != nil {
			each(e.Sequence)
		}
	}
	return all, nil
}

func span(from, until uint64) (all []uint64) {
	for ; from <= until; from++ {
		all = append(all, from)
	}
	return all
}

// The log loses events while it is read, once and again: they come from the
// archive, and nothing is doubled or left out.
func TestEntriesWhileTheLogShrinks(t *testing.T) {
	t.Parallel()
	log := newShrinking(5, 60)
	s := &replay.Source{Log: log, Archive: archived(t, [2]uint64{1, 25}, [2]uint64{26, 50})}
	got, err := read(t, s, replay.Range{From: 2, Until: 58}, func(sequence uint64) {
		switch sequence {
		case 3:
			log.first.Store(9)
		case 12:
			log.first.Store(30)
		case 31:
			log.first.Store(51)
		}
	})
	if err != nil || !slices.Equal(got, span(2, 58)) {
		t.Errorf("%v, error %v", got, err)
	}
	log = newShrinking(1, 60)
	s.Log = log
	got, err = read(t, s, replay.Range{From: 1, Until: 60}, func(sequence uint64) {
		if sequence == 20 {
			log.first.Store(55)
		}
	})
	var missing *replay.MissingError
	if !errors.As(err, &missing) || missing.From != 51 || missing.Until != 54 || len(got) > 50 {
		t.Errorf("%d events, error %v", len(got), err)
	}
}

func TestEntriesOfRangesAndPlaces(t *testing.T) {
	t.Parallel()
	dir := archived(t, [2]uint64{5, 20}, [2]uint64{31, 50})
	tests := []struct {
		name        string
		first       uint64 // of the log, which ends at 60; 0 for no log
		noArchive   bool
		r           replay.Range
		skipMissing bool
		want        []uint64
		err         string
	}{
		{"log alone", 10, true, replay.Range{From: 10, Until: 60}, false, span(10, 60), ""},
		{"log alone, aged out", 10, true, replay.Range{From: 8, Until: 60}, false, nil, "events 8 to 9 are not in the log;"},
		{"archive alone", 0, false, replay.Range{From: 6, Until: 20}, false, span(6, 20), ""},
		{"archive alone, a hole", 0, false, replay.Range{From: 6, Until: 40}, false, nil, "events 21 to 30 are not in the archive at "},
		{"the hole is in the log", 21, false, replay.Range{From: 6, Until: 55}, false, span(6, 55), ""},
		{"a part of it is", 25, false, replay.Range{From: 6, Until: 55}, false, nil, "events 21 to 24 are not in the log, nor"},
		{"passed over", 25, false, replay.Range{From: 2, Until: 55}, true, slices.Concat(span(5, 20), span(25, 55)), ""},
		{"the archive begins later", 5, false, replay.Range{From: 3, Until: 7}, false, nil, "events 3 to 4 are not"},
		{"all has aged out", 61, false, replay.Range{From: 40, Until: 50}, false, span(40, 50), ""},
		{"by time, in the log", 25, true, replay.Range{Since: moment(30), Before: moment(33), Until: 60}, false, span(30, 32), ""},
		{"by time, across", 41, false, replay.Range{From: 31, Since: moment(39), Before: moment(43), Until: 60}, false, span(39, 42), ""},
		{"one order", 41, false, replay.Range{From: 31, Until: 60, Order: "SN-000035"}, false, span(35, 35), ""},
		{"one order, in the log", 31, false, replay.Range{From: 31, Until: 60, Order: "SN-000035"}, false, span(35, 35), ""},
		{"another account", 41, false, replay.Range{From: 31, Until: 60, Account: "second"}, false, nil, ""},
		{"another program", 41, false, replay.Range{From: 31, Until: 60, Program: "9"}, false, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &replay.Source{Archive: dir, SkipMissing: tt.skipMissing}
			if tt.first > 0 {
				s.Log = newShrinking(tt.first, 60)
			}
			if tt.noArchive {
				s.Archive = ""
			}
			got, err := read(t, s, tt.r, nil)
			if !slices.Equal(got, tt.want) || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v, error %v", got, err)
			}
		})
	}
}

// heap are books in memory that can never take some events.
type heap struct {
	position uint64
	never    []uint64
	written  []uint64
	calls    int
}

type poison uint64

func (p poison) Error() string          { return fmt.Sprintf("event %d cannot be posted", uint64(p)) }
func (p poison) PoisonSequence() uint64 { return uint64(p) }

func (h *heap) Position(context.Context) (uint64, error) { return h.position, nil }

func (h *heap) Write(_ context.Context, batch []schema.Entry) error {
	h.calls++
	for i := range batch {
		if slices.Contains(h.never, batch[i].Sequence) {
			return poison(batch[i].Sequence)
		}
	}
	for i := range batch {
		h.written = append(h.written, batch[i].Sequence)
	}
	return nil
}

func entriesOf(until uint64, then error) replay.Entries {
	return func(yield func(schema.Entry, error) bool) {
		for sequence := uint64(1); sequence <= until; sequence++ {
			if !yield(stored(sequence), nil) {
				return
			}
		}
		if then != nil {
			yield(schema.Entry{}, then)
		}
	}
}

func TestBook(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	books := &heap{position: 30, never: []uint64{7, 1500}}
	r := &replay.Report{From: 1}
	if err := replay.Book(t.Context(), books, entriesOf(2500, nil), r, log); err != nil {
		t.Fatal(err)
	}
	if r.Known != 30 || r.Refused != 2 || r.Next != 0 || len(books.written) != 2498 || books.calls != 5 {
		t.Errorf("%+v, %d written in %d calls", r, len(books.written), books.calls)
	}
	damaged := errors.New("damaged")
	books, r = &heap{}, &replay.Report{From: 1}
	if err := replay.Book(t.Context(), books, entriesOf(1700, damaged), r, log); !errors.Is(err, damaged) || r.Next != 1701 || len(books.written) != 1700 {
		t.Errorf("%+v, %d written, error %v", r, len(books.written), err)
	}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		of   []time.Duration
		want int
	}{{nil, 5}, {[]time.Duration{time.Second, time.Hour, time.Minute}, 2}, {[]time.Duration{time.Hour}, 5}} {
		if got := replay.Schedule(tt.of); len(got) != tt.want || slices.Max(got) > time.Minute {
			t.Errorf("of %v: %v", tt.of, got)
		}
	}
}
