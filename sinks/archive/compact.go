package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// The defaults of [CompactConfig].
const (
	DefaultCompactBytes = 256 << 20
	DefaultClosedFor    = time.Hour
)

// The smallest and the largest size of a compacted file that can be asked for. A
// store copies no object of more than 5 GiB in one piece.
const (
	leastCompactBytes = 1 << 20
	mostCompactBytes  = 4 << 30
)

// CompactConfig says what [Compact] merges.
type CompactConfig struct {
	// Dir is the archive's folder or s3:// address. Required.
	Dir string
	// FileBytes is the size that a merged file should not exceed: files are merged
	// as long as they come to no more. 0: 256 MiB; 1 MiB to 4 GiB.
	FileBytes int64
	// ClosedFor is how long ago a day must have ended (in UTC, as event_date has
	// it) to be compacted: no more events of it are expected then. Events that come
	// all the same get a file of their own. 0: 1 hour.
	ClosedFor time.Duration
	// Account limits the work to one account, "" for all.
	Account string
	// DryRun says what would be merged, and changes nothing.
	DryRun bool
	// ZstdLevel is that of [Config]. 0: 1.
	ZstdLevel int
	// Progress is told, now and then, how many events of all are done. Nil: nobody
	// is.
	Progress func(done, total int64)
	// Logger gets a line for what a former run left unfinished. Nil: no lines.
	Logger *slog.Logger
	// Now is the time. Nil: that of the system.
	Now func() time.Time
}

// Compaction is what [Compact] has done, or with DryRun would do.
type Compaction struct {
	Partitions  int   `json:"partitions"`   // of which files were merged
	FilesBefore int64 `json:"files_before"` // that were merged
	FilesAfter  int64 `json:"files_after"`  // that they were merged into
	Events      int64 `json:"events"`       // in them
	BytesBefore int64 `json:"bytes_before"`
	BytesAfter  int64 `json:"bytes_after"` // 0 with DryRun
	// Overtaken counts partitions that another compaction has merged meanwhile.
	Overtaken int `json:"overtaken"`
	// Finished counts compactions that a crash had stopped and that were put right.
	Finished int `json:"finished"`
}

func (c CompactConfig) complete() (CompactConfig, error) {
	var r refusals
	r.refuse(c.Dir == "", "url", "is missing", "name the folder of the archive, or s3://bucket/prefix")
	r.refuse(c.FileBytes != 0 && (c.FileBytes < leastCompactBytes || c.FileBytes > mostCompactBytes),
		"size", "is not between 1 MiB and 4 GiB", "leave it out for 256 MiB")
	r.refuse(c.ClosedFor < 0, "closed_for", "is negative", "leave it out for 1h")
	r.refuseLevel(c.ZstdLevel)
	c.FileBytes = cmp.Or(c.FileBytes, DefaultCompactBytes)
	c.ClosedFor = cmp.Or(c.ClosedFor, DefaultClosedFor)
	c.ZstdLevel = cmp.Or(c.ZstdLevel, DefaultZstdLevel)
	if c.Progress == nil {
		c.Progress = func(int64, int64) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, errors.Join(r...)
}

// Compact merges small files of closed days into larger ones, one partition after
// the other, with the proof of a batch: each step is in the manifest. It may run
// beside an archiver. Of a folder, only one compaction can be at work: the error is
// a [LockedError] for the second; of a bucket, start only one.
//
// A query over **/*.parquet never sees an event twice. It can miss those of a
// partition if it lists the files in the moment between the removal of the old ones
// and the appearance of the new: on a disk the time of a few renames, in a bucket
// that of a copy within the store. [Rows], [Verify] and the other readers of the
// manifest miss none. A crash in that moment is made good by the next Compact, and
// by the next start of an archiver.
//
// What has been done before an error stays done, and is in the Compaction. The
// error is a [ConfigError], a [StorageError], a [SchemaError] for a file of a newer
// program, or a [ManifestError] for files that are not as they were written: such a
// file is never merged.
func Compact(ctx context.Context, cfg CompactConfig) (*Compaction, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	p, err := placeAt(ctx, cfg.Dir)
	if err != nil {
		return nil, err
	}
	done, err := compactPlace(ctx, cfg, p)
	return done, errors.Join(err, p.Close())
}

func compactPlace(ctx context.Context, cfg CompactConfig, p place) (_ *Compaction, err error) {
	if err := checkMarked(ctx, p); err != nil {
		return nil, err
	}
	c := &compactor{cfg: cfg, place: p, done: &Compaction{}}
	if cfg.DryRun {
		return c.done, c.dryRun(ctx)
	}
	lock, err := p.lock(compactLockName)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if f, ok := p.(*folder); ok {
		f.drafts = compactDraftDir
	}
	return c.done, c.run(ctx)
}

// compactor is one run of Compact.
type compactor struct {
	cfg      CompactConfig
	place    place
	manifest *history
	writer   *fileWriter
	temp     string // folder on this machine for temporary files
	done     *Compaction
	merged   int64 // events so far
	total    int64 // events to be merged
}

func (c *compactor) run(ctx context.Context) (err error) {
	finished, err := finishStaged(ctx, c.place, c.cfg.Now())
	c.done.Finished = finished
	if err != nil {
		return err
	}
	if finished > 0 {
		c.cfg.Logger.Info("archive: compactions that were not finished have been", "compactions", finished)
	}
	plans, err := c.plan(ctx)
	if err != nil || len(plans) == 0 {
		return err
	}
	if c.writer, err = newFileWriter(c.cfg.ZstdLevel); err != nil {
		return err
	}
	if c.temp, err = os.MkdirTemp("", "orderwire-compact-*"); err != nil {
		return storageError("make folder", filepath.Join(os.TempDir(), "orderwire-compact-*"), err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.temp)) }()
	for _, p := range plans {
		if err := c.compact(ctx, p); err != nil {
			return fmt.Errorf("compaction of %s: %w", p.dir, err)
		}
	}
	return nil
}

func (c *compactor) dryRun(ctx context.Context) error {
	plans, err := c.plan(ctx)
	for _, p := range plans {
		c.count(p)
	}
	return err
}

// count adds a plan to what was done.
func (c *compactor) count(p *compactPlan) {
	was := Totals{}.plus(p.replaced())
	c.done.Partitions++
	c.done.FilesBefore += was.Files
	c.done.FilesAfter += int64(len(p.groups))
	c.done.Events += was.Rows
	c.done.BytesBefore += was.Bytes
}
