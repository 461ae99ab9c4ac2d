package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
)

// againstLog compares with the log up to where the books stand.
func (j *job) againstLog(ctx context.Context, s *Side) error {
	_, last, err := j.Log.Bounds(ctx)
	if err != nil {
		return err
	}
	if last < j.Position {
		return fmt.Errorf("it ends at sequence %d, and the books are at %d: is this the log that they were filled from?", last, j.Position)
	}
	return j.againstEvents(ctx, s, &replay.Source{Log: j.Log, Archive: j.Archive, Logger: j.Logger}, j.Position)
}

// againstArchive compares with the archive up to where the books stand, or the
// archive when that is less.
func (j *job) againstArchive(ctx context.Context, s *Side) error {
	source := &replay.Source{Archive: j.Archive, Logger: j.Logger}
	end, err := source.End(ctx)
	var damaged *archive.ManifestError
	if errors.Is(err, fs.ErrNotExist) && !errors.As(err, &damaged) {
		s.Notes = append(s.Notes, "no archive is at "+j.Archive)
		end, err = 0, nil
	}
	if err != nil {
		return err
	}
	if end > 0 && end < j.Position {
		s.Notes = append(s.Notes, fmt.Sprintf("the archive ends at sequence %d; what has changed behind it is not comparable yet", end))
	}
	return j.againstEvents(ctx, s, source, min(end, j.Position))
}

// againstEvents compares with the newest events up to a sequence.
func (j *job) againstEvents(ctx context.Context, s *Side, source *replay.Source, until uint64) (err error) {
	s.UpTo = until
	events := &sorter{dir: j.dir}
	g := &gathering{job: j, name: s.Against, source: source, into: events, total: int64(until)}
	if s.Gaps, err = g.read(ctx, 1, until); err != nil {
		return err
	}
	return j.walk(events.sorted(), s, j.wanted, func(p *pair) (verdict, error) {
		if b := p.books; b != nil && (b.Sequence > until || inside(s.Gaps, b.Sequence)) && (p.there == nil || p.there.Sequence < b.Sequence) {
			return verdict{incomparable: true}, nil
		}
		return verdict{kinds: differences(p.books, p.there)}, nil
	})
}

// gathering reads events into a sorter.
type gathering struct {
	*job
	name   string
	source *replay.Source
	into   *sorter
	total  int64
}

// read reads a range, both ends included, and returns what of it is nowhere. What
// is read twice counts once.
func (g *gathering) read(ctx context.Context, from, until uint64) ([]Gap, error) {
	if from > until {
		return nil, nil
	}
	err := g.entries(ctx, from, until)
	var missing *replay.MissingError
	if !errors.As(err, &missing) {
		return nil, err
	}
	before, err := g.read(ctx, from, missing.From-1)
	if err != nil {
		return nil, err
	}
	behind, err := g.read(ctx, missing.Until+1, until)
	return append(append(before, Gap{missing.From, missing.Until}), behind...), err
}

func (g *gathering) entries(ctx context.Context, from, until uint64) error {
	reached := func(sequence uint64) { g.Progress(g.name, "sequences", int64(sequence), g.total) }
	for e, err := range g.source.Entries(ctx, replay.Range{From: from, Until: until}, reached) {
		if err != nil {
			return err
		}
		if g.Account != "" && e.Event.Data.Account != g.Account {
			continue
		}
		r, err := g.audited(&e)
		if err != nil {
			return err
		}
		if err := g.into.add(r); err != nil {
			return err
		}
	}
	return nil
}

// audited returns what an event makes of its order. One that the books cannot take
// has its place and no values, so that the books lack its version.
func (j *job) audited(e *schema.Entry) (record, error) {
	r, err := j.Books.Audited(e)
	var refused *commission.EntryError
	if errors.As(err, &refused) {
		return record{Key: j.Books.AuditedKey(e.Event.Key()), Version: e.Event.Data.Version, Sequence: e.Sequence}, nil
	}
	return r, err
}
