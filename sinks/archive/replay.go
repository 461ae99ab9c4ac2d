package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// EventsConfig says which events [Events] reads, and how. All conditions hold
// together; the zero value of one lets every event through.
type EventsConfig struct {
	// Dir is the archive, as in [Config].
	Dir string
	// From and Until are the first and the last sequence; Until 0: no end.
	From, Until uint64
	// Since and Before bound the broker's time of storage: from Since on, up to
	// but not including Before.
	Since, Before time.Time
	// Account, Program and Order are those of the event's order.
	Account, Program, Order string
	// IDs are those of single events: of a file, little more than their column is
	// read then.
	IDs []string

	// Memory is how many bytes of events are held before they go to a temporary
	// file; 0: 32 MiB. A batch of rows and small buffers come on top.
	Memory int64
	// Temp is the folder of temporary files, which may grow to the size of the
	// events of the files that overlap, as JSON; "": that of the system.
	Temp string
	// Progress is told now and then that everything up to a sequence was read and
	// handed over. Nil: nobody asks.
	Progress func(sequence uint64)
}

const defaultMemory = 32 << 20

// Events reads the archive's events in the order of the log, each once, beside an
// archiver or a compaction at work. An entry is what a reader of the log gets,
// with these differences: Stored is cut to the microsecond, and Raw and Subject
// are made of the event anew. Raw is the log's message, byte for byte, if that
// was written by [schema.Event.AppendJSON] (as all of Orderwire's are), and its
// times have no more than microseconds; finer times are cut. Of somebody else's
// messages, white space, the order of members, and members of data that the
// schema does not know are not kept.
//
// Memory is bounded by EventsConfig.Memory, however large files are and
// however much they overlap. The first error ends the reading: a
// [ManifestError] for an archive that contradicts itself, such as a doubled
// sequence, and a [StorageError].
func Events(ctx context.Context, cfg EventsConfig) iter.Seq2[schema.Entry, error] {
	return func(yield func(schema.Entry, error) bool) {
		if cfg.Memory == 0 {
			cfg.Memory = defaultMemory
		}
		if cfg.Until == 0 {
			cfg.Until = math.MaxUint64
		}
		r := &replayer{cfg: cfg, zones: zones{}, next: max(cfg.From, 1)}
		taken := true
		err := r.run(ctx, func(e schema.Entry) bool {
			taken = yield(e, nil)
			return taken
		})
		if err != nil && taken {
			yield(schema.Entry{}, err)
		}
	}
}

// replayer reads an archive in the order of the log.
type replayer struct {
	cfg   EventsConfig
	store store
	zones zones
	next  uint64 // everything before this sequence was handed over
}

// run goes over the archive. When a compaction has taken a file away meanwhile, it
// goes on with the files that have come in its place.
func (r *replayer) run(ctx context.Context, take func(schema.Entry) bool) (err error) {
	if r.store, err = archiveAt(ctx, r.cfg.Dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.store.Close()) }()
	for {
		commits, err := readManifest(ctx, r.store)
		if err != nil {
			return err
		}
		if err := r.pass(ctx, Live(commits), take); !errors.Is(err, ErrReplaced) {
			return err
		}
	}
}

// pass reads files, which ascend by their first sequences. Before a file is
// read, all events before its first sequence are handed over, as none of them
// can be in it or in a later file.
func (r *replayer) pass(ctx context.Context, live []File, take func(schema.Entry) bool) (err error) {
	files := slices.DeleteFunc(slices.Clone(live), func(f File) bool { return !r.wantsFile(&f) })
	s := &sorter{limit: r.cfg.Memory, temp: r.cfg.Temp}
	defer func() { err = errors.Join(err, s.close()) }()
	from := r.next
	for i := range files {
		if err := r.load(ctx, &files[i], from, s); err != nil {
			return err
		}
		end := uint64(math.MaxUint64)
		if i+1 < len(files) {
			end = files[i+1].First
		}
		if more, err := r.hand(ctx, s, end, take); !more || err != nil {
			return err
		}
	}
	return nil
}

// hand gives the sorter's events before a sequence to take. It returns false when
// take wants no more.
func (r *replayer) hand(ctx context.Context, s *sorter, end uint64, take func(schema.Entry) bool) (bool, error) {
	for s.before(end) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		e, err := s.pop()
		if err != nil {
			return false, err
		}
		if e.sequence < r.next {
			return false, &ManifestError{Path: r.cfg.Dir, Problem: fmt.Sprintf("sequence %d stands in it more than once", e.sequence)}
		}
		entry, err := e.entry()
		if err != nil {
			return false, err
		}
		r.next = e.sequence + 1
		if !take(entry) {
			return false, nil
		}
	}
	if done := min(end-1, r.cfg.Until); r.cfg.Progress != nil && done >= r.cfg.From && end != math.MaxUint64 {
		r.cfg.Progress(done)
	}
	return true, nil
}

// Missing returns the first sequences of a range, both ends included, that no
// batch of an archive covers; from is 0 when all are covered. A batch
// covers everything between its first and its last event: what the log itself
// lacked there is not missing.
func Missing(commits []Commit, from, until uint64) (first, last uint64) {
	for i := range commits {
		c := &commits[i]
		switch {
		case c.IsCompaction() || c.Last < from:
		case from > until:
			return 0, 0
		case c.First > from:
			return from, min(c.First-1, until)
		default:
			from = c.Last + 1
		}
	}
	if from > until {
		return 0, 0
	}
	return from, until
}
