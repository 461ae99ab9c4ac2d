package archive

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"
)

// compactPlan says which files of a partition are merged.
type compactPlan struct {
	dir    string   // the partition
	groups [][]File // each becomes one file; files follow one another
}

// replaced returns all files that are merged.
func (p *compactPlan) replaced() []File { return slices.Concat(p.groups...) }

// plan reads the manifest and finds what there is to merge, partition by partition.
func (c *compactor) plan(ctx context.Context) ([]*compactPlan, error) {
	commits, err := readManifest(ctx, c.place)
	if err != nil {
		return nil, err
	}
	c.manifest = newHistory()
	for i := range commits {
		c.manifest.take(&commits[i])
	}
	partitions := map[string][]File{}
	for _, f := range c.manifest.live {
		if dir := path.Dir(f.Path); c.isClosed(dir) && (c.cfg.Account == "" || accountOf(f.Path) == c.cfg.Account) {
			partitions[dir] = append(partitions[dir], f)
		}
	}
	var plans []*compactPlan
	for _, dir := range slices.Sorted(maps.Keys(partitions)) {
		p := &compactPlan{dir: dir, groups: groupFiles(partitions[dir], c.cfg.FileBytes)}
		if len(p.groups) == 0 {
			continue
		}
		plans = append(plans, p)
		c.total += Totals{}.plus(p.replaced()).Rows
	}
	return plans, nil
}

// isClosed reports whether the day of a partition ended long enough ago.
func (c *compactor) isClosed(dir string) bool {
	day, err := time.Parse(time.DateOnly, dateOf(dir+"/any"))
	return err == nil && !c.cfg.Now().Before(day.AddDate(0, 0, 1).Add(c.cfg.ClosedFor))
}

// manyFiles are so many that they are merged even if one of them is most of it.
const manyFiles = 8

// groupFiles puts files of a partition together that follow one another and come
// to no more than size. A group that is mostly one large file is left alone until
// it has many: writing that one again for little would be done again and again.
func groupFiles(files []File, size int64) [][]File {
	slices.SortFunc(files, compareFiles)
	var groups [][]File
	var group []File
	var bytes, largest int64
	finish := func() {
		if len(group) > 1 && (3*largest <= 2*bytes || len(group) >= manyFiles) {
			groups = append(groups, group)
		}
		group, bytes, largest = nil, 0, 0
	}
	for _, f := range files {
		if bytes+f.Bytes > size {
			finish()
		}
		group = append(group, f)
		bytes += f.Bytes
		largest = max(largest, f.Bytes)
	}
	finish()
	return groups
}

// mergedName returns the path of the file that a group becomes: it bears the range
// of the names that it replaces, so it is none of them.
func mergedName(group []File) (string, error) {
	first, _, ok := rangeOf(group[0].Path)
	_, last, ok2 := rangeOf(group[len(group)-1].Path)
	if !ok || !ok2 {
		return "", fmt.Errorf("archive: %s to %s: no names of files of events", group[0].Path, group[len(group)-1].Path)
	}
	return path.Join(path.Dir(group[0].Path), rangeName(first, last)), nil
}
