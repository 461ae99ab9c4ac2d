package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
)

// progressRows is how often progress is told.
const progressRows = 10_000

// compact merges the files of one partition. Its files are staged where no reader
// looks; the entry of the manifest decides; then readers get them in the place of
// the others.
func (c *compactor) compact(ctx context.Context, p *compactPlan) error {
	begun := c.merged
	n := Commit{Format: formatCompaction, Writer: WriterVersion, Staged: newStaged(c.manifest.head.Number+1, c.cfg.Now())}
	for _, f := range p.replaced() {
		n.Replaces = append(n.Replaces, f.Path)
	}
	err := c.stage(ctx, &n, p)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = c.record(ctx, &n)
	}
	if err != nil {
		err = c.giveUp(ctx, &n, err)
		if errors.Is(err, ErrReplaced) {
			c.done.Overtaken++
			c.merged = begun
			c.advance(Totals{}.plus(p.replaced()).Rows)
			return nil
		}
		return err
	}
	if err := finishStage(ctx, c.place, &n); err != nil {
		return err
	}
	c.count(p)
	c.done.BytesAfter += Totals{}.plus(n.Files).Bytes
	c.cfg.Logger.Debug("archive: compaction", "commit", n.Number, "partition", p.dir, "files", len(n.Replaces), "into", len(n.Files))
	return nil
}

// giveUp removes what was staged for an entry that is not in the manifest, and
// returns why.
func (c *compactor) giveUp(ctx context.Context, n *Commit, cause error) error {
	if errors.Is(cause, errDoubtful) {
		return cause
	}
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	_ = removeStage(settling, c.place, n.Staged) // or the next one does
	return cause
}

// stage writes the merged files.
func (c *compactor) stage(ctx context.Context, n *Commit, p *compactPlan) error {
	for _, group := range p.groups {
		name, err := mergedName(group)
		if err != nil {
			return err
		}
		n.Files = append(n.Files, File{Path: name})
	}
	n.stage()
	for i, group := range p.groups {
		to := n.Files[i]
		f, err := c.merge(ctx, to.staged, group)
		if err != nil {
			return err
		}
		f.Path, f.staged = to.Path, to.staged
		n.Files[i] = f
	}
	return c.place.syncDir(n.Staged)
}

// merge writes the rows of a group as one file.
func (c *compactor) merge(ctx context.Context, name string, group []File) (File, error) {
	file, err := c.place.create(ctx, name)
	if err != nil {
		return File{}, err
	}
	f, err := c.write(ctx, file, group)
	if err != nil {
		return File{}, errors.Join(err, file.drop())
	}
	return f, file.seal()
}

func (c *compactor) write(ctx context.Context, out draft, group []File) (File, error) {
	if err := c.writer.begin(out, firstOf(group), lastOf(group)); err != nil {
		return File{}, err
	}
	for row, err := range (&merger{dir: c.temp}).rows(ctx, c.sources(ctx, group)) {
		if err == nil {
			err = c.writer.add(ctx, &row)
		}
		if err != nil {
			return File{}, err
		}
		if c.writer.rows()%progressRows == 0 {
			c.advance(progressRows)
		}
	}
	f, err := c.writer.end(ctx)
	c.advance(f.Rows % progressRows)
	return f, err
}

// sources returns the rows of files, small files first: the first are those that a
// merge of many writes twice.
func (c *compactor) sources(ctx context.Context, group []File) []iter.Seq2[Row, error] {
	var sources []iter.Seq2[Row, error]
	for _, f := range slices.SortedFunc(slices.Values(group), func(a, b File) int { return cmp.Compare(a.Bytes, b.Bytes) }) {
		sources = append(sources, sourceRows(ctx, c.place, &f))
	}
	return sources
}

func (c *compactor) advance(events int64) {
	c.merged += events
	c.cfg.Progress(c.merged, c.total)
}

// errDoubtful marks an error after which the entry may be in the manifest or not.
var errDoubtful = errors.New("the entry of the manifest may have been written; the next compaction or start of an archiver will see")

// record writes the entry of the manifest behind whatever has been written
// meanwhile. The error wraps [ErrReplaced] when another compaction has been quicker.
func (c *compactor) record(ctx context.Context, n *Commit) error {
	for {
		if isStale(c.place, n.Staged, c.cfg.Now()) {
			return fmt.Errorf("archive: merging has taken more than %s: another compaction may take what was written for left over; run it again", staleAfter)
		}
		m := c.manifest
		gone, err := m.replaced(n)
		if err != nil {
			return fmt.Errorf("%w (%w)", err, ErrReplaced)
		}
		n.Number, n.Previous = m.head.Number+1, m.head.SHA256
		n.First, n.Last = m.head.Last+1, m.head.Last
		n.Totals = m.head.Totals.plus(n.Files).minus(gone)
		if err := m.check(n); err != nil {
			return fmt.Errorf("archive: the merged files do not hold what they replace: the manifest's next entry %w", err)
		}
		document, err := n.encode()
		if err != nil {
			return err
		}
		err = c.place.putNew(ctx, manifestName(n.Number), document)
		if err == nil {
			m.take(n)
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: %w", errDoubtful, err)
		}
		if err := m.readOn(ctx, c.place); err != nil {
			return err
		}
	}
}

// readOn takes the entries that have been written since.
func (m *history) readOn(ctx context.Context, s store) error {
	for {
		next, err := readCommit(ctx, s, m.head.Number+1)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := m.add(&next); err != nil {
			return &ManifestError{Path: s.path(manifestName(next.Number)), Problem: err.Error()}
		}
	}
}
