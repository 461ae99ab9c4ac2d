package archive

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
)

// Live returns the files that hold the archive's events after some commits, which
// are all of it from the first: each event stands in exactly one of them. They
// ascend by First.
func Live(commits []Commit) []File {
	live := map[string]File{}
	for i := range commits {
		for _, name := range commits[i].Replaces {
			delete(live, name)
		}
		for _, f := range commits[i].Files {
			live[f.Path] = f
		}
	}
	return slices.SortedFunc(maps.Values(live), compareFiles)
}

// compareFiles is the order in which files are read: by their sequences.
func compareFiles(a, b File) int {
	return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last), cmp.Compare(a.Path, b.Path))
}

// history is the manifest up to an entry.
type history struct {
	head Commit          // the zero Commit before the first
	live map[string]File // by path
}

func newHistory() *history { return &history{live: map[string]File{}} }

// add takes the next entry. The error says what is wrong with it; the entry is
// not taken then.
func (m *history) add(c *Commit) error {
	err := m.check(c)
	if err == nil {
		m.take(c)
	}
	return err
}

// check says what is wrong with the next entry.
func (m *history) check(c *Commit) error {
	if err := c.follows(&m.head); err != nil {
		return err
	}
	gone, err := m.replaced(c)
	if err != nil {
		return err
	}
	for i, f := range c.Files {
		_, there := m.live[f.Path]
		if there || slices.ContainsFunc(c.Files[:i], func(other File) bool { return other.Path == f.Path }) {
			return fmt.Errorf("adds %s, which is there already", f.Path)
		}
	}
	if c.IsCompaction() {
		if err := sameEvents(gone, c.Files); err != nil {
			return err
		}
	}
	if c.Totals != m.head.Totals.plus(c.Files).minus(gone) {
		return errors.New("has wrong totals")
	}
	return nil
}

// take makes the entry the last one, whatever it holds.
func (m *history) take(c *Commit) {
	for _, name := range c.Replaces {
		delete(m.live, name)
	}
	for _, f := range c.Files {
		m.live[f.Path] = f
	}
	m.head = *c
}

// replaced returns the files that an entry takes away.
func (m *history) replaced(c *Commit) ([]File, error) {
	var gone []File
	for i, name := range c.Replaces {
		f, there := m.live[name]
		if !there || slices.Contains(c.Replaces[:i], name) {
			return nil, fmt.Errorf("replaces %s, which is not there", name)
		}
		gone = append(gone, f)
	}
	return gone, nil
}

// sameEvents holds what a compaction writes to what it takes away, as far as the
// manifest tells.
func sameEvents(gone, files []File) error {
	was, is := Totals{}.plus(gone), Totals{}.plus(files)
	switch {
	case was.Rows != is.Rows:
		return fmt.Errorf("replaces %d events by %d", was.Rows, is.Rows)
	case !inOnePartition(slices.Concat(gone, files)):
		return errors.New("moves events to another partition")
	case firstOf(gone) != firstOf(files) || lastOf(gone) != lastOf(files):
		return errors.New("replaces events by those of another range")
	}
	before, after := addSums(gone), addSums(files)
	if before == nil || after == nil {
		return nil
	}
	if field := before.differ(after); field != "" {
		return errors.New("replaces events by others with other sums: " + field)
	}
	return nil
}

func inOnePartition(files []File) bool {
	return !slices.ContainsFunc(files, func(f File) bool { return path.Dir(f.Path) != path.Dir(files[0].Path) })
}

func firstOf(files []File) uint64 {
	return slices.MinFunc(files, func(a, b File) int { return cmp.Compare(a.First, b.First) }).First
}

func lastOf(files []File) uint64 {
	return slices.MaxFunc(files, func(a, b File) int { return cmp.Compare(a.Last, b.Last) }).Last
}

// follows checks a commit against the one before it alone, the zero Commit for
// the first.
func (c *Commit) follows(before *Commit) error {
	switch {
	case c.Number != before.Number+1:
		return fmt.Errorf("is entry %d, and entry %d is due", c.Number, before.Number+1)
	case c.Previous != before.SHA256:
		return fmt.Errorf("does not follow entry %d: that one has been changed or replaced", before.Number)
	case len(c.Files) == 0:
		return errors.New("has no files")
	case c.IsCompaction():
		return c.compacts(before)
	case c.First <= before.Last || c.Last < c.First:
		return fmt.Errorf("covers sequences %d to %d behind %d", c.First, c.Last, before.Last)
	case c.Totals != before.Totals.plus(c.Files):
		return errors.New("has wrong totals")
	case slices.ContainsFunc(c.Files, func(f File) bool { return f.First < c.First || f.Last > c.Last }):
		return errors.New("has a file beyond its range")
	}
	return nil
}

// compacts checks a compaction against the commit before it alone.
func (c *Commit) compacts(before *Commit) error {
	switch {
	case c.Last != before.Last || c.First != before.Last+1:
		return fmt.Errorf("compacts up to sequence %d, and the commit before it ends at %d", c.Last, before.Last)
	case c.Totals.Rows != before.Totals.Rows,
		c.Totals.Files != before.Totals.Files+int64(len(c.Files))-int64(len(c.Replaces)):
		return errors.New("has wrong totals")
	case lastOf(c.Files) > c.Last:
		return errors.New("has a file beyond its range")
	case c.Staged == "":
		return errors.New("is a compaction that does not say where its files were staged")
	}
	return nil
}
