package archive

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// wantsFile reports whether a file can hold an event that is asked for, by its
// name and the manifest alone.
func (r *replayer) wantsFile(f *File) bool {
	return f.Last >= r.next && f.First <= r.cfg.Until && (r.cfg.Account == "" || accountOf(f.Path) == r.cfg.Account)
}

// wantsRow reports whether a row's event is asked for.
func (r *replayer) wantsRow(row *Row, from uint64) bool {
	sequence, c := uint64(row.Sequence), &r.cfg
	return sequence >= from && sequence <= c.Until &&
		(c.Since.IsZero() || !row.StoredAt.Before(c.Since)) && (c.Before.IsZero() || row.StoredAt.Before(c.Before)) &&
		(c.Program == "" || orEmpty(row.ProgramID) == c.Program) && (c.Order == "" || row.OrderSn == c.Order) &&
		(len(c.IDs) == 0 || slices.Contains(c.IDs, row.EventID))
}

// rows reads what a file may have of the events that are asked for: all reports
// that it is the whole file.
func (r *replayer) rows(ctx context.Context, f *File) (rows iter.Seq2[Row, error], all bool) {
	switch c := &r.cfg; {
	case c.Order != "":
		return pickedRows(ctx, r.store, f, newPick(columnOrder, c.Order)), false
	case len(c.IDs) > 0:
		return pickedRows(ctx, r.store, f, newPick(columnEvent, c.IDs...)), false
	default:
		return liveRows(ctx, r.store, f), true
	}
}

// load puts the events of a file into the sorter. A file that is not what the
// manifest says is an error, because the order of the events relies on that.
func (r *replayer) load(ctx context.Context, f *File, from uint64, s *sorter) error {
	var count int64
	name := r.store.path(f.Path)
	rows, all := r.rows(ctx, f)
	for row, err := range rows {
		if err != nil {
			return err
		}
		count++
		if sequence := uint64(row.Sequence); sequence < f.First || sequence > f.Last {
			return &ManifestError{Path: name, Problem: fmt.Sprintf("holds sequence %d, and the manifest says %d to %d", sequence, f.First, f.Last)}
		}
		if !r.wantsRow(&row, from) {
			continue
		}
		e, err := newReplayed(&row, r.zones)
		if err != nil {
			return &ManifestError{Path: name, Problem: "holds a row that no archiver has written", Cause: err}
		}
		if err := s.add(e); err != nil {
			return err
		}
	}
	if all && count != f.Rows {
		return &ManifestError{Path: name, Problem: fmt.Sprintf("has %d rows, and the manifest counts %d", count, f.Rows)}
	}
	return nil
}

// replayed is an event on its way back into the order of the log.
type replayed struct {
	sequence uint64
	stored   int64  // broker time in microseconds since 1970
	raw      []byte // the event document
}

// replayedBytes is what one takes in memory beside its document.
const replayedBytes = 64

func (e *replayed) size() int64 { return int64(cap(e.raw)) + replayedBytes }

func newReplayed(row *Row, known zones) (replayed, error) {
	event, err := row.event(known)
	if err != nil {
		return replayed{}, err
	}
	raw, err := event.AppendJSON(nil)
	return replayed{sequence: uint64(row.Sequence), stored: row.StoredAt.UnixMicro(), raw: raw}, err
}

// entry makes of it what a reader of the log gets.
func (e *replayed) entry() (schema.Entry, error) {
	event, err := schema.ParseEvent(e.raw)
	if err != nil {
		return schema.Entry{}, fmt.Errorf("archive: row of sequence %d: %w", e.sequence, err)
	}
	return schema.Entry{
		Sequence: e.sequence, Stored: time.UnixMicro(e.stored).UTC(),
		Subject: event.Key().Subject(event.Type), Raw: e.raw, Event: event,
	}, nil
}
