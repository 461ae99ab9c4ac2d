package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// settleWithin bounds the tidying behind a failed commit, in a store that does
// not answer: the process may be about to end.
const settleWithin = 3 * time.Second

// commit makes the buffered batch part of the archive, in four steps of which
// each is durable before the next: the intent, the files, the entry of the
// manifest, the removal of the intent. The third decides: before it a crash
// takes the batch back, after it the batch is in.
func (a *Archive) commit(ctx context.Context) error {
	if a.buffer.rows == 0 {
		return a.abandon(ctx)
	}
	began := time.Now()
	a.buffer.sortParts()
	in := a.plan()
	c, err := a.perform(ctx, in)
	if err != nil {
		a.broken = ErrPosition
		// Nothing of the batch may be seen meanwhile. If this fails as well, the
		// next Position tries again.
		settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
		defer cancel()
		_ = a.settle(settling, in)
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
func (a *Archive) abandon(ctx context.Context) error {
	if a.repeat == nil {
		return nil
	}
	a.cfg.Logger.Warn("archive: the log no longer holds a batch that was not finished",
		"first", a.repeat.First, "last", a.repeat.Last)
	a.repeat = nil
	return a.place.conclude(ctx, &a.head)
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
	if err := a.place.announce(ctx, in); err != nil {
		return Commit{}, err
	}
	c := Commit{
		Format: formatVersion, Number: in.Number, Previous: in.Previous,
		First: in.First, Last: in.Last, Writer: in.Writer,
	}
	for i, p := range a.buffer.parts {
		f, err := a.draft(ctx, in, i, p.rows)
		if err != nil {
			return Commit{}, err
		}
		c.Files = append(c.Files, f)
	}
	if err := ctx.Err(); err != nil {
		return Commit{}, err
	}
	if err := a.place.publish(ctx, in); err != nil {
		return Commit{}, err
	}
	c.Totals = a.head.Totals.plus(c.Files)
	document, err := c.encode()
	if err != nil {
		return Commit{}, err
	}
	err = a.place.putNew(ctx, manifestName(c.Number), document)
	if errors.Is(err, fs.ErrExist) {
		return Commit{}, &LockedError{Dir: a.cfg.Dir, Holder: fmt.Sprintf("which has just written commit %d", c.Number)}
	}
	if err != nil {
		return Commit{}, err
	}
	return c, a.place.conclude(ctx, &c)
}
