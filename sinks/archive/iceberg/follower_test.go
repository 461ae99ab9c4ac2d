package iceberg

import (
	"strconv"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

func TestTableHoldsTheArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := openArchive(t, dir, nil)
	f := newFollower(t, configure(t, dir))
	follow(t, f) // nothing to take over yet
	for i := range uint64(3) {
		commit(t, a, 40*i+1, 40*i+40)
		follow(t, f)
		follow(t, f)
		sameAs(t, f, dir)
	}
	tbl := open(t, f)
	if n := len(snapshots(tbl)); n != 3 {
		t.Errorf("%d snapshots of 3 commits", n)
	}
	for i, s := range snapshots(tbl) {
		p := s.Summary.Properties
		first, last := strconv.Itoa(40*i+1), strconv.Itoa(40*i+40)
		if p[keyCommit] != strconv.Itoa(i+1) || p[keyFirst] != first || p[keyLast] != last || len(p[keySHA256]) != 64 || p["added-records"] != "40" {
			t.Errorf("snapshot %d: %v", i, p)
		}
	}
}

// The column account is in no file: filters by it go by the partition.
func TestFiltersOfTheTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archived(t, dir, 50, 120)
	f := newFollower(t, configure(t, dir))
	follow(t, f)
	tbl := open(t, f)
	for _, account := range []string{"main", "a=b/c", "ü 1"} {
		want, got := held(t.Context(), t, dir, account), scan(t, tbl, is(account))
		if !got.equal(want) || len(want.sequences) != 40 {
			t.Errorf("account %q: %d rows with %v, want %d with %v", account, len(got.sequences), got.sums, len(want.sequences), want.sums)
		}
	}
	if got := scan(t, tbl, is("none")); len(got.sequences) != 0 {
		t.Errorf("%d rows of an account that is none", len(got.sequences))
	}
	for name, test := range map[string]struct {
		filter ice.BooleanExpression
		want   int
	}{
		"decimal":  {ice.LessThan(ice.Reference("siter_commission"), "0.00"), 7},
		"text":     {ice.EqualTo(ice.Reference("order_sn"), "SN-000077"), 1},
		"time":     {ice.LessThan(ice.Reference("observed_at"), "2026-11-02T00:00:00+00:00"), 15},
		"sequence": {ice.GreaterThanEqual(ice.Reference("sequence"), int64(119)), 2},
	} {
		if got := scan(t, tbl, table.WithRowFilter(test.filter)); len(got.sequences) != test.want {
			t.Errorf("%s: %d rows, not %d", name, len(got.sequences), test.want)
		}
	}
	// Bounds keep files out before they are opened: one day's are left of 21.
	tasks, err := tbl.Scan(table.WithRowFilter(ice.EqualTo(ice.Reference("order_sn"), "SN-000077"))).PlanFiles(t.Context())
	if err != nil || len(tasks) != 3 {
		t.Errorf("%d files for one order, %v", len(tasks), err)
	}
}

// What a reader that goes by the specification makes of the partitions: counts by
// account and day.
func TestPartitionsOfTheTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archived(t, dir, 120)
	f := newFollower(t, configure(t, dir))
	follow(t, f)
	tbl := open(t, f)
	tasks, err := tbl.Scan().PlanFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byAccount, days := make(map[string]int64), make(map[ice.Date]bool)
	for _, task := range tasks {
		p := task.File.Partition()
		byAccount[p[1000].(string)] += task.File.Count()
		days[p[1001].(ice.Date)] = true
	}
	if len(byAccount) != 3 || byAccount["main"] != 40 || byAccount["a=b/c"] != 40 || byAccount["ü 1"] != 40 || len(days) != 6 {
		t.Errorf("by account %v, days %v", byAccount, days)
	}
}
