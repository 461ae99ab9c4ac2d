package archive

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// sized makes files of these sizes that follow one another.
func sized(sizes ...int64) []File {
	var files []File
	for i, size := range sizes {
		first := uint64(10*i + 1)
		files = append(files, File{Path: "account=a/event_date=2026-11-01/" + rangeName(first, first+9), First: first + 1, Last: first + 8, Bytes: size})
	}
	return files
}

func TestGroupFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		sizes []int64
		want  []int // files of each group
	}{
		{"nothing", nil, nil},
		{"a single file", []int64{10}, nil},
		{"all in one", []int64{10, 10, 10}, []int{3}},
		{"just the size", []int64{50, 50}, []int{2}},
		{"one more than the size", []int64{50, 51}, nil},
		{"several groups", []int64{40, 40, 40, 40, 40}, []int{2, 2}},
		{"a full one between", []int64{10, 10, 95, 10, 10}, []int{2, 2}},
		{"larger than the size", []int64{500, 10, 10}, []int{2}},
		{"mostly one large file", []int64{60, 10, 10}, nil},
		{"two thirds in one file", []int64{60, 15, 15}, []int{3}},
		{"one large file and many small", []int64{80, 1, 1, 1, 1, 1, 1, 1}, []int{8}},
		{"one large file and not so many", []int64{80, 1, 1, 1, 1, 1, 1}, nil},
		{"empty files", []int64{0, 0}, []int{2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := sized(tt.sizes...)
			slices.Reverse(files) // they come in any order
			var got []int
			var before uint64
			for _, group := range groupFiles(files, 100) {
				got = append(got, len(group))
				for _, f := range group {
					if f.First <= before {
						t.Errorf("sequence %d behind %d", f.First, before)
					}
					before = f.First
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("groups of %v, not %v", got, tt.want)
			}
		})
	}
}

// A merged file bears the range of the names that it replaces, and is none of them.
func TestMergedName(t *testing.T) {
	t.Parallel()
	files := sized(1, 1, 1)
	for _, group := range [][]File{files[:2], files[1:], files} {
		name, err := mergedName(group)
		first, last := group[0], group[len(group)-1]
		want := "account=a/event_date=2026-11-01/" + rangeName(first.First-1, last.Last+1)
		if err != nil || name != want || slices.ContainsFunc(files, func(f File) bool { return f.Path == name }) {
			t.Errorf("name %s, %v; not %s", name, err, want)
		}
	}
	if _, err := mergedName([]File{{Path: "a/b/c.parquet"}, files[0]}); err == nil {
		t.Error("a name without a range")
	}
}

// A day is closed some time after its end in UTC.
func TestIsClosed(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		now    time.Time
		closed bool
	}{
		{end, false},
		{end.Add(90*time.Minute - 1), false},
		{end.Add(90 * time.Minute), true},
		{end.Add(90*time.Minute - 1).In(time.FixedZone("east", 12*3600)), false},
		{end.Add(90 * time.Minute).In(time.FixedZone("west", -12*3600)), true},
		{end.AddDate(0, 0, -1), false},
	} {
		c := &compactor{cfg: CompactConfig{ClosedFor: 90 * time.Minute, Now: func() time.Time { return tt.now }}}
		if got := c.isClosed("account=a/event_date=2026-11-01"); got != tt.closed {
			t.Errorf("at %v closed: %v", tt.now, got)
		}
	}
	c := &compactor{cfg: CompactConfig{Now: later}}
	for _, dir := range []string{"account=a/event_date=soon", ".", "account=a"} {
		if c.isClosed(dir) {
			t.Errorf("%s is closed", dir)
		}
	}
}

// The work can be limited to an account, and be only shown.
func TestCompactSome(t *testing.T) {
	t.Parallel()
	onPlaces(t, func(t *testing.T, fresh func(testing.TB) string) {
		dir := chain(t, fresh(t))
		before := tree(t, dir)
		for account, want := range map[string]int64{"": 6, "main": 3, "other": 0} {
			done, err := Compact(t.Context(), CompactConfig{Dir: dir, Account: account, DryRun: true, Now: later})
			noError(t, err)
			if done.FilesBefore != want || done.BytesAfter != 0 || (done.BytesBefore > 0) != (want > 0) {
				t.Errorf("account %q: would do %+v", account, done)
			}
		}
		done, err := Compact(t.Context(), CompactConfig{Dir: dir, Now: func() time.Time { return epoch }})
		noError(t, err)
		if *done != (Compaction{}) {
			t.Errorf("done %+v on the same day", done)
		}
		sameTree(t, before, tree(t, dir))
		var steps [][2]int64
		done, err = Compact(t.Context(), CompactConfig{Dir: dir, Account: "second", Now: later, Progress: func(done, total int64) {
			steps = append(steps, [2]int64{done, total})
		}})
		noError(t, err)
		if done.FilesBefore != 3 || done.FilesAfter != 1 || done.Events != 4 || steps[len(steps)-1] != [2]int64{4, 4} {
			t.Errorf("done %+v, progress %v", done, steps)
		}
		if n := len(visible(t, dir)); n != 4 {
			t.Errorf("%d files", n)
		}
		readable(t, dir, entries(t, 9))
	})
}

func TestCompactConfigMistakes(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]CompactConfig{
		"url: is missing":                             {},
		"size: is not between 1 MiB and 4 GiB":        {Dir: "x", FileBytes: leastCompactBytes - 1},
		"size: is not between 1 MiB and 4 GiB; leave": {Dir: "x", FileBytes: mostCompactBytes + 1},
		"closed_for: is negative":                     {Dir: "x", ClosedFor: -1},
		"zstd_level: is not between":                  {Dir: "x", ZstdLevel: 23},
	} {
		_, err := Compact(t.Context(), cfg)
		var mistake *ConfigError
		if !errors.As(err, &mistake) || !contains(err, want) {
			t.Errorf("error %v, not %s", err, want)
		}
	}
	for _, dry := range []bool{false, true} {
		if _, err := Compact(t.Context(), CompactConfig{Dir: t.TempDir(), DryRun: dry}); !errors.Is(err, ErrNoArchive) {
			t.Errorf("error %v", err)
		}
	}
}

// What was merged is merged again when there is more, and late events of a closed
// day are.
func TestCompactLevels(t *testing.T) {
	t.Parallel()
	onPlaces(t, func(t *testing.T, fresh func(testing.TB) string) {
		dir := compactable(t, fresh(t))
		_, err := compactAt(t.Context(), pairs(t, dir, tree(t, dir)), nil)
		noError(t, err)
		log := entries(t, compactEvents)
		for i := range 7 { // late ones, of an account each second time
			log = append(log, entry(t, uint64(len(log)+1), event([]string{"main", "second"}[i%2], 100+i, 1)))
			a := open(t, Config{Dir: dir})
			write(t, a, log[len(log)-1:])
			noError(t, a.Close())
		}
		readable(t, dir, log)
		done, err := Compact(t.Context(), CompactConfig{Dir: dir, Now: later})
		noError(t, err)
		if done.FilesBefore != 4+7 || done.FilesAfter != 2 {
			t.Errorf("done %+v", done)
		}
		sameNames(t, dir)
		tidy(t, dir)
		readable(t, dir, log)
		for _, f := range Live(commits(t, dir)) { // as if it had been one batch
			want := fmt.Sprintf("account=%s/event_date=2026-11-01/", accountOf(f.Path)) + rangeName(1, f.Last)
			if f.Path != want {
				t.Errorf("file %s, not %s", f.Path, want)
			}
		}
	})
}
