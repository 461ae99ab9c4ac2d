package archive

import (
	"slices"
	"testing"
	"time"
)

// Small files of closed days become one for each account and day; nothing is lost
// or doubled, and a second time there is nothing to do.
func TestCompact(t *testing.T) {
	t.Parallel()
	onPlaces(t, compactsAll)
}

func compactsAll(t *testing.T, fresh func(testing.TB) string) {
	dir, log := chain(t, fresh(t)), entries(t, 9)
	before := rows(t, dir)
	done, err := Compact(t.Context(), CompactConfig{Dir: dir, Now: later})
	noError(t, err)
	if done.FilesBefore != 6 || done.FilesAfter != 2 || done.Events != 9 || done.Partitions != 2 || done.BytesAfter == 0 {
		t.Errorf("done %+v", done)
	}
	finds(t, verify(t, VerifyConfig{Dir: dir, Log: logOf{log: log}}))
	if a, b := visible(t, dir), named(t, dir); len(a) != 2 || !slices.Equal(a, b) {
		t.Errorf("readers see %v, the manifest names %v", a, b)
	}
	if after := rows(t, dir); len(after) != len(before) {
		t.Errorf("%d rows, and %d before", len(after), len(before))
	}
	exactlyOnce(t, dir, log)
	again, err := Compact(t.Context(), CompactConfig{Dir: dir, Now: later})
	noError(t, err)
	if *again != (Compaction{}) {
		t.Errorf("done again %+v", again)
	}
}

// later is when the days of all test events are closed.
func later() time.Time { return epoch.AddDate(0, 1, 0) }
