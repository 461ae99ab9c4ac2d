package archive

import (
	"slices"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

func TestBatchesAreCut(t *testing.T) {
	t.Parallel()
	log := entries(t, 10)
	size := int64(len(log[0].Raw))
	late := slices.Clone(log)
	for i := range late[4:] {
		late[4+i].Stored = late[4+i].Stored.Add(time.Hour)
	}
	tests := []struct {
		name  string
		cfg   Config
		batch int
		flush []uint64
		want  [][2]uint64
	}{
		{"by size, in the midst of a Write", Config{RollBytes: 3 * size}, 10, nil, [][2]uint64{{1, 3}, {4, 6}, {7, 9}, {10, 10}}},
		{"by size, across Writes", Config{RollBytes: 3 * size}, 2, nil, [][2]uint64{{1, 3}, {4, 6}, {7, 9}, {10, 10}}},
		{"by broker time", Config{RollEvery: 2 * time.Second}, 4, nil, [][2]uint64{{1, 3}, {4, 6}, {7, 9}, {10, 10}}},
		{"by Flush", Config{}, 2, []uint64{4}, [][2]uint64{{1, 4}, {5, 10}}},
		{"by Flush twice", Config{}, 1, []uint64{4, 5}, [][2]uint64{{1, 4}, {5, 5}, {6, 10}}},
		{"not at all", Config{}, 3, nil, [][2]uint64{{1, 10}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Dir = t.TempDir()
			if err := runUntil(t.Context(), tt.cfg, log, tt.batch, tt.flush, nil); err != nil {
				t.Fatal(err)
			}
			if got := ranges(t, tt.cfg.Dir); !slices.Equal(got, tt.want) {
				t.Errorf("commits %v, not %v", got, tt.want)
			}
			exactlyOnce(t, tt.cfg.Dir, log)
		})
	}
	t.Run("by a gap in broker time", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := runUntil(t.Context(), Config{Dir: dir}, late, 10, nil, nil); err != nil {
			t.Fatal(err)
		}
		if got, want := ranges(t, dir), [][2]uint64{{1, 4}, {5, 10}}; !slices.Equal(got, want) {
			t.Errorf("commits %v, not %v", got, want)
		}
	})
}

func TestWriteSkipsWhatIsThere(t *testing.T) {
	t.Parallel()
	log := entries(t, 6)
	dir := t.TempDir()
	a := open(t, Config{Dir: dir})
	write(t, a, log[:4])
	write(t, a, log[:4])
	write(t, a, log[2:])
	write(t, a, nil)
	if got, want := ranges(t, dir), [][2]uint64{{1, 4}, {5, 6}}; !slices.Equal(got, want) {
		t.Errorf("commits %v, not %v", got, want)
	}
	exactlyOnce(t, dir, log)
}

func TestPositionForgetsTheBuffer(t *testing.T) {
	t.Parallel()
	log := entries(t, 6)
	dir := t.TempDir()
	a := open(t, Config{Dir: dir})
	write(t, a, log[:2])
	if err := a.Write(t.Context(), log[2:5]); err != nil {
		t.Fatal(err)
	}
	if s := a.Stats(); s.Buffered != 3 || s.LastSequence != 2 || s.Rows != 2 || s.Commits != 1 || s.Files != 2 {
		t.Errorf("figures %+v", s)
	}
	position, err := a.Position(t.Context())
	if err != nil || position != 2 {
		t.Fatalf("position %d, %v", position, err)
	}
	if s := a.Stats(); s.Buffered != 0 {
		t.Errorf("%d entries are still buffered", s.Buffered)
	}
	write(t, a, log[2:])
	exactlyOnce(t, dir, log)
}

// A trimmed log lacks sequences; commits cover what was seen and continue.
func TestGapsInTheLog(t *testing.T) {
	t.Parallel()
	log := entries(t, 20)
	log = slices.DeleteFunc(log, func(e schema.Entry) bool { return e.Sequence%3 == 0 || e.Sequence < 5 })
	dir := t.TempDir()
	if err := runUntil(t.Context(), Config{Dir: dir}, log, 3, []uint64{8}, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := ranges(t, dir), [][2]uint64{{5, 8}, {10, 20}}; !slices.Equal(got, want) {
		t.Errorf("commits %v, not %v", got, want)
	}
	exactlyOnce(t, dir, log)
}

func TestPartitions(t *testing.T) {
	t.Parallel()
	log := entries(t, 4)
	log[2].Event.Data.ObservedAt = time.Date(2026, 11, 2, 1, 0, 0, 0, time.FixedZone("", 2*60*60)) // still the 1st in UTC
	log[3].Event.Data.ObservedAt = time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC)
	dir := archived(t, log)
	want := []string{
		"account=main/event_date=2026-11-01/00000000000000000001-00000000000000000004.parquet",
		"account=second/event_date=1969-12-31/00000000000000000001-00000000000000000004.parquet",
		"account=second/event_date=2026-11-01/00000000000000000001-00000000000000000004.parquet",
	}
	if got := visible(t, dir); !slices.Equal(got, want) {
		t.Errorf("files %v", got)
	}
	files := commits(t, dir)[0].Files
	if files[0].First != 1 || files[0].Last != 3 || files[0].Rows != 2 || files[1].First != 4 || files[2].Last != 2 {
		t.Errorf("files %+v", files)
	}
}
