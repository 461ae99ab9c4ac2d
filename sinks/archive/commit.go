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

// commit makes a batch part of the archive, in four steps of which each is
// durable before the next: the intent, the files, the entry of the manifest, the
// removal of the intent. The third decides: before it a crash takes the batch
// back, after it the batch is in.
func (a *Archive) commit(ctx context.Context, u *underway) error {
	began := time.Now()
	u.batch.sortParts()
	in := a.plan(u)
	c, err := a.perform(ctx, u.batch, in)
	if err != nil {
		// Nothing of the batch may be seen meanwhile. If this fails as well, the
		// next Position tries again.
		settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
		defer cancel()
		_, _, _ = a.place.settle(settling, in)
		return fmt.Errorf("commit of sequences %d to %d: %w", in.First, in.Last, err)
	}
	a.advance(c)
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
func (a *Archive) plan(u *underway) *intent {
	in := &intent{
		Format: formatVersion, Number: a.head.Number + 1, Previous: a.head.SHA256,
		First: u.batch.firstSeq, Last: u.batch.lastSeq, Writer: WriterVersion,
	}
	for _, p := range u.batch.parts {
		in.Files = append(in.Files, p.fileName(in.First, in.Last))
	}
	if r := u.repeat; r != nil && (r.First != in.First || r.Last != in.Last) {
		a.cfg.Logger.Warn("archive: the log no longer holds all of a batch that was not finished",
			"first", r.First, "last", r.Last, "first_now", in.First, "last_now", in.Last)
	}
	return in
}

// perform takes the four steps.
func (a *Archive) perform(ctx context.Context, b *buffer, in *intent) (Commit, error) {
	if err := announce(ctx, a.place, in); err != nil {
		return Commit{}, err
	}
	c := Commit{Format: formatVersion, First: in.First, Last: in.Last, Writer: in.Writer}
	for i, p := range b.parts {
		f, err := a.draft(ctx, in, i, b, p.rows)
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
	if err := a.record(ctx, &c); err != nil {
		return Commit{}, err
	}
	return c, a.place.conclude(ctx, &c)
}

// record writes the entry of the manifest. Compactions that have been written
// meanwhile take nothing from a batch: its entry gets the next number.
func (a *Archive) record(ctx context.Context, c *Commit) error {
	for {
		c.Totals = a.head.Totals.plus(c.Files)
		c.Number, c.Previous = a.head.Number+1, a.head.SHA256
		document, err := c.encode()
		if err != nil {
			return err
		}
		err = a.place.putNew(ctx, manifestName(c.Number), document)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		head, err := readHead(ctx, a.place)
		if err != nil {
			return err
		}
		if head.Number < c.Number || head.Last != a.head.Last {
			return &LockedError{Work: "archiver", Dir: a.cfg.Dir, Holder: fmt.Sprintf("which has just written commit %d", c.Number)}
		}
		a.head = head
	}
}
