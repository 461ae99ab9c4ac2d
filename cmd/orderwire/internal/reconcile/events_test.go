package reconcile

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
)

// archived makes an archive of events.
func archived(tb testing.TB, entries ...schema.Entry) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "archive")
	a, err := archive.Open(tb.Context(), archive.Config{Dir: dir})
	if err != nil {
		tb.Fatal(err)
	}
	if err := a.Write(tb.Context(), entries); err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(a.Flush(tb.Context()), a.Close()); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// What has aged out of the log comes from the archive, and where it is in neither,
// an order is not comparable: never in agreement.
func TestAgedOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		archive       func(w *world) string
		agree, no     int64 // against the log
		gaps          []Gap
		archiveGaps   []Gap
		archiveAgrees int64
		archiveNo     int64
	}{
		{"an archive of all", func(w *world) string { return archived(t, w.log.entries...) }, 4, 0, nil, nil, 4, 0},
		{"an archive of what has aged out", func(w *world) string { return archived(t, w.log.entries[:3]...) }, 4, 0, nil, nil, 2, 2},
		{"an archive that began late", func(w *world) string { return archived(t, w.log.entries[2:]...) }, 3, 1, []Gap{{1, 2}}, []Gap{{1, 2}}, 3, 1},
		{"no archive", func(*world) string { return filepath.Join(t.TempDir(), "none") }, 2, 2, []Gap{{1, 3}}, nil, 0, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, sn := range []string{"a", "b", "c", "d", "b"} { // b's second version is in the log
				w.books(order(sn, "0", 100+int64(len(w.log.entries))))
			}
			w.log.first = 4
			w.config.Against, w.config.Archive = []string{Log, Archive}, tt.archive(w)
			r, found := w.compare()
			l, a := side(t, &r, Log), side(t, &r, Archive)
			if len(found) > 0 || l.Agree != tt.agree || l.NotComparable != tt.no || !slices.Equal(l.Gaps, tt.gaps) {
				t.Errorf("log: %+v, %q", l, texts(found))
			}
			if a.Agree != tt.archiveAgrees || a.NotComparable != tt.archiveNo || !slices.Equal(a.Gaps, tt.archiveGaps) {
				t.Errorf("archive: %+v", a)
			}
		})
	}
}

// The books are held against the newest event up to where they stand, and not
// against later ones.
func TestUpToThePosition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.books(order("a", "0", 100))
	w.books(order("b", "0", 100))
	skipped := w.logs(order("a", "0", 200)) // and this the books have not taken
	w.books(order("c", "0", 100))
	w.logs(order("b", "-1", 100))
	w.logs(order("d", "0", 100))
	w.config.Against, w.config.Archive = []string{Log, Archive}, archived(t, w.log.entries...)
	r, found := w.compare()
	want := []string{"archive a version+amount+commission", "log a version+amount+commission"}
	if got := texts(found); !slices.Equal(got, want) || r.Position != 4 || side(t, &r, Archive).UpTo != 4 {
		t.Errorf("got %q at %d", got, r.Position)
	}
	if d := found[0]; d.Books.Sequence != 1 || d.There.Sequence != skipped.Sequence || d.Books.Version != 1 || d.There.Version != 2 || d.Account != "main" || d.ProgramID != "77" {
		t.Errorf("%+v, %+v, %+v", d, d.Books, d.There)
	}
}

// Events that the books have passed over, or have and the log has not, are named.
func TestMissingAndExtra(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.logs(order("missing", "0", 100))
	e := w.logs(order("extra", "0", 100))
	w.log.book(e)
	w.log.entries[1] = w.log.entries[0] // which comes twice now
	w.log.entries[1].Sequence = 2
	w.config.Against = []string{Log}
	_, found := w.compare()
	if got := texts(found); !slices.Equal(got, []string{"log extra extra", "log missing missing"}) {
		t.Errorf("got %q", got)
	}
}

// Books that are ahead of the log are of another one.
func TestAnotherLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.books(order("a", "0", 100))
	w.log.entries = nil
	w.config.Against = []string{Log}
	r, err := Run(t.Context(), w.config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if r.Failed == nil || r.Sides[1].Failure == "" {
		t.Errorf("%+v", r.Report)
	}
}

// Orders are in a range of days when either side places them there.
func TestRangeOfDays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	on := func(sn, day string) schema.Order {
		o := order(sn, "0", 100)
		o.OrderTime = schema.NewText(day + " 00:00:00")
		return o
	}
	w.books(on("a", "2026-03-09"))
	w.books(on("b", "2026-03-10"))
	moved := w.logs(on("c", "2026-03-10"))
	moved.Event.Data.Order.OrderTime = schema.NewText("2026-03-11 00:00:00")
	w.log.book(moved)
	w.books(on("d", "2026-03-12"))
	w.config.Against, w.config.From, w.config.To = []string{Log}, "2026-03-10", "2026-03-10"
	r, found := w.compare()
	if got := texts(found); !slices.Equal(got, []string{"log c day"}) || side(t, &r, Log).Compared != 2 {
		t.Errorf("got %q, %+v", got, r.Sides)
	}
}
