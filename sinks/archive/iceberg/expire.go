package iceberg

import (
	"context"
	"slices"

	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// keptSnapshots is how many snapshots stay: each is in every metadata file. They
// go when there are expireAt more.
const (
	keptSnapshots = 500
	expireAt      = 100
)

// expire takes old snapshots off a table, and removes the manifests that only they
// named, never a file of the archive. If it fails, the snapshots go another time;
// manifests that cannot be removed stay and do no harm. A table with tags or
// branches is left to who made them.
func (f *Follower) expire(ctx context.Context, t *table.Table) {
	all := t.Metadata().Snapshots()
	refs := 0
	for range t.Metadata().Refs() {
		refs++
	}
	if len(all) <= f.keep+f.slack || refs > 1 || t.CurrentSnapshot() == nil {
		return
	}
	slices.SortFunc(all, func(a, b table.Snapshot) int { return int(a.SequenceNumber - b.SequenceNumber) })
	old, kept := all[:len(all)-f.keep], all[len(all)-f.keep:]
	ids := make([]int64, len(old))
	for i := range old {
		ids[i] = old[i].SnapshotID
	}
	head := t.CurrentSnapshot().SnapshotID
	if slices.Contains(ids, head) {
		return // somebody has rolled the table back
	}
	_, _, err := f.tables.CommitTable(ctx, f.table,
		[]table.Requirement{table.AssertTableUUID(t.Metadata().TableUUID()), table.AssertRefSnapshotID(table.MainBranch, &head)},
		[]table.Update{table.NewRemoveSnapshotsUpdate(ids, false)})
	if err == nil {
		err = f.removeManifests(ctx, t, old, kept)
	}
	if err != nil {
		f.log.Warn("iceberg: old snapshots, or manifests of them, stay", "snapshots", len(old), "error", err)
	}
}

// removeManifests removes what old snapshots name and none that is kept.
func (f *Follower) removeManifests(ctx context.Context, t *table.Table, old, kept []table.Snapshot) error {
	files, err := t.FS(ctx)
	if err != nil {
		return err
	}
	needed, err := namedBy(files, kept)
	if err != nil {
		return err
	}
	garbage, err := namedBy(files, old)
	if err != nil {
		return err
	}
	for path := range garbage {
		if needed[path] {
			continue
		}
		if err := files.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// namedBy returns the manifest lists and manifests of snapshots.
func namedBy(files io.IO, snapshots []table.Snapshot) (map[string]bool, error) {
	named := make(map[string]bool)
	for _, s := range snapshots {
		manifests, err := s.Manifests(files)
		if err != nil {
			return nil, err
		}
		named[s.ManifestList] = true
		for _, m := range manifests {
			named[m.FilePath()] = true
		}
	}
	return named, nil
}
