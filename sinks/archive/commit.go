package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"time"
)

// commit makes the buffered batch part of the archive, in four steps of which
// each is durable before the next: the intent, the files, the entry of the
// manifest, the removal of the intent. The third decides: before it a crash
// takes the batch back, after it the batch is in.
func (a *Archive) commit(ctx context.Context) error {
	if a.buffer.rows == 0 {
		return a.abandon()
	}
	began := time.Now()
	a.buffer.sortParts()
	in := a.plan()
	c, err := a.perform(ctx, in)
	if err != nil {
		a.broken = ErrPosition
		// Nothing of the batch may be seen meanwhile. If this fails as well, the
		// next Position tries again.
		_ = a.settle()
		return fmt.Errorf("commit of sequences %d to %d: %w", in.First, in.Last, err)
	}
	a.head, a.repeat = c, nil
	a.buffer.reset()
	a.report()
	a.cfg.Logger.Debug("archive: commit", "commit", c.Number, "first", c.First, "last", c.Last,
		"files", len(c.Files), "events", Totals{}.plus(c.Files).Rows, "took", time.Since(began))
	return nil
}

// abandon drops the intent of a batch of which the log has lost every entry.
func (a *Archive) abandon() error {
	if a.repeat == nil {
		return nil
	}
	a.cfg.Logger.Warn("archive: the log no longer holds a batch that was not finished",
		"first", a.repeat.First, "last", a.repeat.Last)
	a.repeat = nil
	return a.dir.remove(intentName)
}

// plan says what is about to be committed.
func (a *Archive) plan() *intent {
	in := &intent{
		Format: formatVersion, Number: a.head.Number + 1, Previous: a.head.SHA256,
		First: a.buffer.firstSeq, Last: a.buffer.lastSeq, Writer: WriterVersion,
	}
	for _, p := range a.buffer.parts {
		in.Files = append(in.Files, p.fileName(in.First, in.Last))
	}
	if a.repeat != nil && (a.repeat.First != in.First || a.repeat.Last != in.Last) {
		a.cfg.Logger.Warn("archive: the log no longer holds all of a batch that was not finished",
			"first", a.repeat.First, "last", a.repeat.Last, "first_now", in.First, "last_now", in.Last)
	}
	return in
}

// perform takes the four steps.
func (a *Archive) perform(ctx context.Context, in *intent) (Commit, error) {
	if err := a.dir.putIntent(in); err != nil {
		return Commit{}, err
	}
	c := Commit{
		Format: formatVersion, Number: in.Number, Previous: in.Previous,
		First: in.First, Last: in.Last, Writer: in.Writer,
	}
	for i, p := range a.buffer.parts {
		f, err := a.draft(ctx, in.Files[i], draftName(strconv.Itoa(i)), p.rows)
		if err != nil {
			return Commit{}, err
		}
		c.Files = append(c.Files, f)
	}
	if err := ctx.Err(); err != nil {
		return Commit{}, err
	}
	if err := a.publish(in.Files); err != nil {
		return Commit{}, err
	}
	c.Totals = a.head.Totals.plus(c.Files)
	document, err := c.encode()
	if err != nil {
		return Commit{}, err
	}
	err = a.dir.putNew(manifestName(c.Number), document)
	if errors.Is(err, fs.ErrExist) {
		return Commit{}, &LockedError{Dir: a.dir.root, Holder: fmt.Sprintf("which has just written commit %d", c.Number)}
	}
	if err != nil {
		return Commit{}, err
	}
	return c, a.dir.remove(intentName)
}

// publish gives all files of a batch their names. From here on readers see them.
func (a *Archive) publish(files []string) error {
	var dirs []string
	for i, name := range files {
		dir := path.Dir(name)
		if err := a.dir.makeDir(dir); err != nil {
			return err
		}
		if err := a.dir.rename(draftName(strconv.Itoa(i)), name); err != nil {
			return err
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		if err := a.dir.syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}
