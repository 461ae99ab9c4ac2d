package iceberg

import (
	"context"
	"fmt"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// apply makes one snapshot. Iceberg's own way with a branch that another has moved
// is to put the snapshot on top of it, which would double files: the branch is
// held to where it was when the table was loaded.
func (f *Follower) apply(ctx context.Context, t *table.Table, s *step, sources []source) (*table.Table, error) {
	tx := t.NewTransaction()
	if err := tx.AssertRefSnapshotID(table.MainBranch); err != nil {
		return nil, err
	}
	add := make([]ice.DataFile, len(sources))
	for i := range sources {
		var err error
		if add[i], err = sources[i].dataFile(t); err != nil {
			return nil, err
		}
	}
	remove, err := f.present(ctx, t, s.remove)
	if err != nil {
		return nil, err
	}
	properties := propertiesOf(s.entries)
	switch {
	case s.compacts():
		rewrite := tx.NewRewrite(properties)
		rewrite.ApplyResult(table.CompactionGroupResult{OldDataFiles: remove, NewDataFiles: add})
		err = rewrite.Commit(ctx)
	case len(remove) > 0:
		err = tx.ReplaceFiles(ctx, remove, add, nil, properties)
	default:
		err = tx.AddDataFiles(ctx, add, properties, table.WithoutDuplicateCheck())
	}
	if err != nil {
		return nil, fmt.Errorf("iceberg: snapshot of commits %d to %d: %w", s.entries[0].Number, s.entries[len(s.entries)-1].Number, err)
	}
	after, err := tx.Commit(ctx)
	if err != nil {
		return nil, fmt.Errorf("iceberg: the catalog did not confirm commits %d to %d: %w",
			s.entries[0].Number, s.entries[len(s.entries)-1].Number, err)
	}
	return after, nil
}

// present finds files in the table by their paths in the archive.
func (f *Follower) present(ctx context.Context, t *table.Table, paths []string) ([]ice.DataFile, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	missing := make(map[string]bool, len(paths))
	for _, path := range paths {
		missing[f.file(path)] = true
	}
	tasks, err := t.Scan().PlanFiles(ctx)
	if err != nil {
		return nil, fmt.Errorf("iceberg: files of the table: %w", err)
	}
	var found []ice.DataFile
	for _, task := range tasks {
		if location := task.File.FilePath(); missing[location] {
			delete(missing, location)
			found = append(found, task.File)
		}
	}
	for location := range missing {
		return nil, tableError(t.Identifier(), "lacks %d files that it should have, such as %s", len(missing), location)
	}
	return found, nil
}
