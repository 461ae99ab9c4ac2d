package archive

import (
	"context"
	"errors"
	"iter"
)

// Kind sorts what [Verify] finds.
type Kind string

// The kinds of findings.
const (
	BadEntry      Kind = "bad-entry"      // an entry of the manifest is missing, changed or out of place
	BadIntent     Kind = "bad-intent"     // the intent is about another commit, or cannot be read
	CutManifest   Kind = "cut-manifest"   // files are there behind the manifest's last entry
	MissingFile   Kind = "missing-file"   // the manifest names a file that is not there
	DamagedFile   Kind = "damaged-file"   // the bytes of a file are not those that were written
	OtherFile     Kind = "other-file"     // under the name of a file lie the bytes of another
	DoubledFile   Kind = "doubled-file"   // a copy of a file lies where readers look
	StrayFile     Kind = "stray-file"     // a file that no commit names lies where readers look
	WrongRows     Kind = "wrong-rows"     // rows contradict the manifest or their order
	DoubledEvents Kind = "doubled-events" // a sequence stands in several rows
	MissingEvents Kind = "missing-events" // the log holds events that stand in no row
	OtherEvents   Kind = "other-events"   // the log holds other events under these sequences
	BadLog        Kind = "bad-log"        // the log could not be compared to its end
)

// Finding is one thing that is wrong with an archive.
type Finding struct {
	Kind Kind `json:"kind"`
	// Path is the place, below the archive's folder; "" for the log.
	Path string `json:"path,omitempty"`
	// What is wrong, and what to do about it. Neither holds anything of an event.
	What string `json:"what"`
	Do   string `json:"do"`
}

// mostFindings bounds the memory of a [Verification].
const mostFindings = 1000

// Verification is what [Verify] has seen.
type Verification struct {
	Commits int    `json:"commits"`
	Files   int64  `json:"files"`    // that were read
	Rows    int64  `json:"rows"`     // that were read
	Last    uint64 `json:"position"` // last sequence of the manifest, 0 for none
	// WithoutSums counts files of entries that an older writer has left without
	// sums.
	WithoutSums int64 `json:"files_without_sums"`
	// UnderWay are files in their places of a batch under way, or files that a
	// compaction is about to remove. If a crash has stopped either, the next
	// archiver or compaction finishes it or takes it back.
	UnderWay []string `json:"under_way"`
	// Compared counts rows whose event is in the log, Gone those whose event is
	// no longer in the log.
	Compared int64 `json:"compared_with_log"`
	Gone     int64 `json:"no_longer_in_log"`
	// Unreadable counts messages of the log that are no event; the archive does
	// not take them.
	Unreadable int64 `json:"unreadable_in_log"`

	Findings []Finding `json:"findings"`
	// Omitted counts findings beyond the first 1000.
	Omitted int64 `json:"findings_omitted"`
}

// OK reports whether nothing was found.
func (v *Verification) OK() bool { return len(v.Findings) == 0 }

func (v *Verification) add(kind Kind, path, what, do string) {
	if len(v.Findings) == mostFindings {
		v.Omitted++
		return
	}
	v.Findings = append(v.Findings, Finding{kind, path, what, do})
}

// LogEvent is an event of the log: its sequence and its id, "" for a message
// that is no event.
type LogEvent struct {
	Sequence uint64
	ID       string
}

// EventLog is the log that an archive is held against.
type EventLog interface {
	// Events hands over what the log still holds up to a sequence, ascending.
	// An error ends it.
	Events(ctx context.Context, last uint64) iter.Seq2[LogEvent, error]
}

// VerifyConfig says what [Verify] looks at.
type VerifyConfig struct {
	// Dir is the archive's folder or s3:// address. Required.
	Dir string
	// Log is compared event by event. Nil: only the archive is looked at.
	Log EventLog
	// Progress is told, after each file, how many rows of all are done. Nil:
	// nobody is.
	Progress func(done, total int64)
}

// Verify proves that an archive holds every event once: that the manifest's
// chain holds; that each file is the one that was written, and its rows agree
// with the manifest and ascend; that nothing else lies where readers look; and,
// with a log, that each of its events up to the archive's position is in exactly
// one row. It changes nothing, takes no lock and may run beside an archiver.
//
// It goes on after a fault and returns all of them. The error is for what stops
// it: ctx, a [ConfigError] for a wrong address, or a [StorageError] for a place
// that cannot be listed or holds no archive. Memory is bounded by the manifest and
// the rows of files whose sequences overlap, 32 bytes each: those of a batch, or
// of a day once it is compacted. Of a bucket, one file at a time is held as well.
func Verify(ctx context.Context, cfg VerifyConfig) (*Verification, error) {
	s, err := archiveAt(ctx, cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // it was only read
	for {
		v := &verifier{
			place: s, progress: cfg.Progress,
			found: &Verification{UnderWay: []string{}, Findings: []Finding{}},
		}
		err := v.run(ctx, cfg.Log)
		if !errors.Is(err, ErrReplaced) {
			return v.found, err
		}
	}
}

// verifier is one run of Verify.
type verifier struct {
	place    store
	progress func(done, total int64)
	found    *Verification

	present []string          // files where readers look
	intents []*intent         // that could be read
	history *history          // of all entries that could be read
	entries []Commit          // these, oldest first; also those that were changed
	owner   map[string]int    // place in entries of the entry that named a file last
	byHash  map[string]string // paths of the live files
	total   int64             // rows to read
	done    int64             // rows read
}

// run looks at everything once. The error wraps [ErrReplaced] when a compaction
// has come between.
func (v *verifier) run(ctx context.Context, log EventLog) error {
	// In this order, because a commit may be made meanwhile: a file that is seen
	// now is named by an intent that is read next, or by the manifest after it.
	if err := v.list(ctx); err != nil {
		return err
	}
	if err := v.readIntents(ctx); err != nil {
		return err
	}
	if err := v.readManifest(ctx); err != nil {
		return err
	}
	v.checkIntents(ctx)
	if err := v.checkStrays(ctx); err != nil {
		return err
	}
	return v.checkRows(ctx, log)
}

func (v *verifier) advance(rows int64) {
	v.done += rows
	if v.progress != nil {
		v.progress(v.done, v.total)
	}
}
