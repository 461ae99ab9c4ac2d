package iceberg

import (
	"context"
	"errors"
	"sync"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// The archive was killed between the entry of the manifest and the catalog, once
// and many times: the table takes over what it lacks, nothing twice.
func TestCrashBetweenFilesAndCatalog(t *testing.T) {
	t.Parallel()
	dir, cfg := t.TempDir(), configure(t, t.TempDir())
	cfg.Archive = dir
	archived(t, dir, 10)
	follow(t, newFollower(t, cfg))
	archived(t, dir, 20)
	follow(t, newFollower(t, cfg))
	f := newFollower(t, cfg)
	if n := len(snapshots(sameAs(t, f, dir))); n != 2 {
		t.Errorf("%d snapshots", n)
	}
	archived(t, dir, 25, 30, 35, 40)
	follow(t, newFollower(t, cfg))
	all := snapshots(sameAs(t, f, dir))
	if len(all) != 3 {
		t.Fatalf("%d snapshots; four entries in arrears are one", len(all))
	}
	if p := all[2].Summary.Properties; p[keyCommit] != "6" || p[keyFirst] != "21" || p[keyLast] != "40" {
		t.Errorf("properties %v", p)
	}
}

// unsteady is a catalog whose answers fail: after the commit, or before it.
type unsteady struct {
	tables
	before, after error
	commits       int
}

func (u *unsteady) LoadTable(ctx context.Context, name table.Identifier) (*table.Table, error) {
	t, err := u.tables.LoadTable(ctx, name)
	return u.own(t), err
}

func (u *unsteady) CreateTable(ctx context.Context, name table.Identifier, s *ice.Schema, options ...catalog.CreateTableOpt) (*table.Table, error) {
	t, err := u.tables.CreateTable(ctx, name, s, options...)
	return u.own(t), err
}

// own makes a table commit through u.
func (u *unsteady) own(t *table.Table) *table.Table {
	if t == nil {
		return nil
	}
	return table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(), t.FS, u)
}

func (u *unsteady) CommitTable(ctx context.Context, name table.Identifier, r []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	u.commits++
	if u.before != nil {
		return nil, "", u.before
	}
	m, at, err := u.tables.CommitTable(ctx, name, r, updates)
	if err == nil && u.after != nil {
		return nil, "", u.after
	}
	return m, at, err
}

func wrapped(t *testing.T, cfg Config) (*Follower, *unsteady) {
	t.Helper()
	f := newFollower(t, cfg)
	if err := f.connected(t.Context()); err != nil {
		t.Fatal(err)
	}
	u := &unsteady{tables: f.tables}
	f.tables = u
	return f, u
}

var errAway = errors.New("no answer")

func TestAnswerOfTheCatalogLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archived(t, dir, 10)
	f, u := wrapped(t, configure(t, dir))
	u.after = errAway
	follow(t, f)
	archived(t, dir, 20)
	follow(t, f)
	if n := len(snapshots(sameAs(t, f, dir))); n != 2 || u.commits != 2+1 {
		t.Errorf("%d snapshots of %d commits; 2 and the one of the columns' names", n, u.commits)
	}
}

func TestCatalogThatIsAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archived(t, dir, 10)
	f, u := wrapped(t, configure(t, dir))
	u.before = errAway
	for range 2 {
		if err := f.Follow(t.Context()); !errors.Is(err, errAway) {
			t.Errorf("got %v", err)
		}
	}
	if u.commits != 2+1 {
		t.Errorf("%d commits were tried; one each time, and one behind the making of the table", u.commits)
	}
	u.before = nil
	follow(t, f)
	if n := len(snapshots(sameAs(t, f, dir))); n != 1 {
		t.Errorf("%d snapshots", n)
	}
}

// A follower that has lost the race would put its files on top by iceberg-go's own
// way, and double them.
func TestFollowersRace(t *testing.T) {
	t.Parallel()
	dir, cfg := t.TempDir(), configure(t, t.TempDir())
	cfg.Archive = dir
	archived(t, dir, 5)
	const racers = 3
	for round := range uint64(5) {
		var wg sync.WaitGroup
		for range racers {
			f := newFollower(t, cfg)
			wg.Go(func() {
				if err := f.Follow(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		f := newFollower(t, cfg)
		if n := len(snapshots(sameAs(t, f, dir))); n != int(round)+1 {
			t.Fatalf("round %d: %d snapshots", round, n)
		}
		archived(t, dir, 10+5*round)
	}
}

// retrying gives the table a property by which iceberg-go puts a snapshot on top
// of another's, and returns it as it is then.
func retrying(t *testing.T, f *Follower) *table.Table {
	t.Helper()
	tx := open(t, f).NewTransaction()
	if err := tx.SetProperties(ice.Properties{table.CommitNumRetriesKey: "3", table.CommitMinRetryWaitMsKey: "1"}); err != nil {
		t.Fatal(err)
	}
	tbl, err := tx.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// Both have loaded the table before either commits.
func TestFollowerThatComesLate(t *testing.T) {
	t.Parallel()
	dir, cfg := t.TempDir(), configure(t, t.TempDir())
	cfg.Archive = dir
	archived(t, dir, 10)
	follow(t, newFollower(t, cfg))
	archived(t, dir, 20)
	late := newFollower(t, cfg)
	stale := retrying(t, late)
	follow(t, newFollower(t, cfg))
	if done, err := late.advance(t.Context(), stale); done || err == nil {
		t.Errorf("done %t, %v", done, err)
	}
	follow(t, late)
	if n := len(snapshots(sameAs(t, late, dir))); n != 2 {
		t.Errorf("%d snapshots", n)
	}
}

func TestTablesThatAreRefused(t *testing.T) {
	t.Parallel()
	cfg := configure(t, t.TempDir())
	archived(t, cfg.Archive, 10, 20)
	follow(t, newFollower(t, cfg))
	refused := func(what, want string, cfg Config) {
		t.Helper()
		var wrong *TableError
		if err := newFollower(t, cfg).Follow(t.Context()); !errors.As(err, &wrong) || wrong.Problem != want || wrong.Table != DefaultTable {
			t.Errorf("%s: %v", what, err)
		}
	}
	ahead := cfg
	ahead.Archive = t.TempDir()
	archived(t, ahead.Archive, 10)
	refused("a table ahead of the manifest", "is at commit 2, which the archive does not have", ahead)
	archived(t, ahead.Archive, 21)
	refused("a table of another archive", "follows another archive: its commit 2 is another", ahead)

	// A snapshot of others on top is none of our business; a table without any of
	// ours is.
	f := newFollower(t, cfg)
	foreign := open(t, f).NewTransaction()
	if err := foreign.Delete(t.Context(), ice.EqualTo(ice.Reference("account"), "main"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	archived(t, cfg.Archive, 30)
	follow(t, f)
	if all := snapshots(open(t, f)); len(all) != 3 || all[2].Summary.Properties[keyCommit] != "3" {
		t.Errorf("snapshots %v", all)
	}
	other := cfg
	other.Table = "lake.orders"
	first := readSource(t, f, 0)
	made := newFollower(t, other)
	if err := made.connected(t.Context()); err != nil {
		t.Fatal(err)
	}
	tbl, err := made.createTable(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	d, err := first.dataFile(tbl)
	if err != nil {
		t.Fatal(err)
	}
	foreign = tbl.NewTransaction()
	if err := foreign.AddDataFiles(t.Context(), []ice.DataFile{d}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wrong *TableError
	if err := made.Follow(t.Context()); !errors.As(err, &wrong) || wrong.Problem != "has snapshots, but none of them follows an archive" {
		t.Errorf("got %v", err)
	}
}
