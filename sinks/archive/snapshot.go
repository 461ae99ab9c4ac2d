package archive

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"
)

// DefaultSnapshotRows is the default of [SnapshotConfig].
const DefaultSnapshotRows = 1_000_000

// snapshotTries is how often a snapshot begins again because a compaction has
// replaced a file that it was about to read.
const snapshotTries = 5

// SnapshotConfig says which states [Snapshot] writes, and where.
type SnapshotConfig struct {
	// Dir is the archive's folder or s3:// address. Required.
	Dir string
	// To is the folder or s3:// address of the set, outside of the archive. Nothing
	// may be there yet. Required.
	To string
	// At leaves out what the log stored later, by the broker's time (stored_at). It
	// is not compared with observed_at: an event can wait between the network's
	// answer and the log, and until it was in the log nobody believed it. What was
	// stored at a time is one end of the log; what was observed at a time is not.
	// Zero: no limit.
	At time.Time
	// Sequence leaves out what has a greater sequence. Not together with At. 0: no
	// limit.
	Sequence uint64
	// Account limits the set to one account, "" for all.
	Account string
	// FileRows is how many orders a file holds at most. 0: 1,000,000.
	FileRows int64
	// ZstdLevel is that of [Config]. 0: 1.
	ZstdLevel int
	// Progress is told, now and then, how many events of all have been read. Nil:
	// nobody is.
	Progress func(done, total int64)
}

// SnapshotReport describes a set of last states. It stands in the set as
// _orderwire/snapshot.json, which is written when all else is in its place: a
// folder without it is no whole set.
type SnapshotReport struct {
	// Format is the version of this document, 1.
	Format int `json:"format"`
	// At is the limit in time, nil when there was none.
	At *time.Time `json:"at,omitempty"`
	// Sequence is the limit in the log: the one that was asked for, or the
	// archive's position.
	Sequence uint64 `json:"sequence"`
	// Account is the only account in the set, "" for all.
	Account string `json:"account,omitempty"`
	// Archive is what the states were taken from.
	Archive SnapshotSource `json:"archive"`
	// Orders counts the rows of the set, one for each order, and Vanished those
	// among them whose last event is order.vanished: the network no longer lists
	// such an order, and the row holds what it was before.
	Orders   int64 `json:"orders"`
	Vanished int64 `json:"vanished"`
	// Last and LastStored are sequence and time of the newest event in the set, 0
	// and nil without any.
	Last       uint64     `json:"last_sequence"`
	LastStored *time.Time `json:"last_stored_at,omitempty"`
	// Events counts the events that were read, and Later those among them beyond the
	// limits. When At is given and there is none, the log may have stored events
	// before that time which the archive does not hold yet.
	Events int64 `json:"events"`
	Later  int64 `json:"events_later"`
	// Files are the files of the set, with paths below its folder.
	Files []File `json:"files"`
	// Writer is the [WriterVersion] that wrote the files.
	Writer string `json:"writer"`
}

// SnapshotSource is the state of an archive.
type SnapshotSource struct {
	Commits  uint64 `json:"commits"`  // number of the last entry of the manifest
	SHA256   string `json:"sha256"`   // its hash, which vouches for all entries before it
	Position uint64 `json:"position"` // the last sequence in the archive
}

func (c SnapshotConfig) complete() (SnapshotConfig, error) {
	var r refusals
	r.refuse(c.Dir == "", "url", "is missing", "name the folder of the archive, or s3://bucket/prefix")
	r.refuse(c.To == "", "to", "is missing", "name a folder for the set, or s3://bucket/prefix")
	r.refuse(c.Dir != "" && c.To != "" && isInside(c.To, c.Dir), "to", "lies in the archive", "name a place outside: readers of the archive would take the set for events")
	r.refuse(!c.At.IsZero() && c.Sequence != 0, "at", "and sequence are both given", "leave one of them out")
	r.refuse(c.FileRows < 0, "file_rows", "is negative", "leave it out for 1000000")
	r.refuseLevel(c.ZstdLevel)
	c.FileRows = cmp.Or(c.FileRows, DefaultSnapshotRows)
	c.ZstdLevel = cmp.Or(c.ZstdLevel, DefaultZstdLevel)
	if c.Progress == nil {
		c.Progress = func(int64, int64) {}
	}
	return c, errors.Join(r...)
}

// isInside reports whether one address is another or below it.
func isInside(address, of string) bool {
	if strings.HasPrefix(address, s3Scheme) != strings.HasPrefix(of, s3Scheme) {
		return false
	}
	if !strings.HasPrefix(address, s3Scheme) {
		a, errA := filepath.Abs(address)
		b, errB := filepath.Abs(of)
		rel, err := filepath.Rel(b, a)
		return errors.Join(errA, errB, err) == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	}
	a, errA := parseS3Address(address)
	b, errB := parseS3Address(of)
	return errors.Join(errA, errB) == nil && a.bucket == b.bucket && a.endpoint == b.endpoint && strings.HasPrefix(a.prefix+"/", b.prefix+"/")
}

// Snapshot writes the last state of every order that an archive holds as one
// Parquet set, with the partitions account=…: what did we believe at that time? The
// rows are events as they stand in the archive, one for each order, in files of the
// same columns, format and order, account=…/part-00000.parquet. Memory does not grow
// with the number of orders.
//
// The set is written under names that no reader looks at and then put into its
// place, on a disk by renames, in a bucket by copies within the store; last comes
// its descriptor, the SnapshotReport. A run that fails or is cancelled removes what
// it wrote. One that is killed can leave hidden files, or in the moment of the
// renames a part of the set without the descriptor; the next run then refuses the
// place. It may run beside an archiver and a compaction.
//
// The error is a [ConfigError] for what cannot be asked, a [StorageError], a
// [SchemaError] for files of a newer program, or a [ManifestError] for files that
// are not as they were written.
func Snapshot(ctx context.Context, cfg SnapshotConfig) (*SnapshotReport, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	from, err := archiveAt(ctx, cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }() // it was only read
	to, err := placeAt(ctx, cfg.To)
	if err != nil {
		return nil, err
	}
	report, err := snapshotInto(ctx, cfg, from, to)
	return report, errors.Join(err, to.Close())
}

func snapshotInto(ctx context.Context, cfg SnapshotConfig, from store, to place) (*SnapshotReport, error) {
	set := &stateSet{place: to}
	if err := set.check(ctx); err != nil {
		return nil, err
	}
	report, err := fillSet(ctx, cfg, from, set)
	switch {
	case errors.Is(err, errTaken):
		return nil, err
	case err != nil:
		return nil, set.giveUp(ctx, err)
	}
	return report, nil
}

// fillSet writes the set, and begins again while a compaction replaces its files.
func fillSet(ctx context.Context, cfg SnapshotConfig, from store, set *stateSet) (*SnapshotReport, error) {
	if err := set.claim(ctx); err != nil {
		return nil, err
	}
	report, err := takeSnapshot(ctx, cfg, from, set)
	for tries := 1; errors.Is(err, ErrReplaced) && tries < snapshotTries; tries++ {
		if err := set.empty(ctx); err != nil {
			return nil, err
		}
		report, err = takeSnapshot(ctx, cfg, from, set)
	}
	if err != nil {
		return nil, err
	}
	return report, set.publish(ctx, report)
}
