package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go/format"

	"github.com/orderwire/orderwire/schema"
)

// The keys of a snapshot file's metadata, beside those of every file.
const (
	metaAsOfSequence = "orderwire.as_of_sequence"
	metaAsOfTime     = "orderwire.as_of_time" // only with a limit in time
)

// taker is one attempt at a snapshot.
type taker struct {
	cfg    SnapshotConfig
	from   store
	set    *stateSet
	report *SnapshotReport
	first  uint64 // least sequence of the archive
	writer *fileWriter
	temp   string // folder on this machine for temporary files
	total  int64  // events to read

	parts int    // files of the account so far
	name  string // of the file under way
	out   draft  // the file under way, nil for none
}

// takeSnapshot writes the files of the set where nobody looks for them yet.
func takeSnapshot(ctx context.Context, cfg SnapshotConfig, from store, set *stateSet) (_ *SnapshotReport, err error) {
	t := &taker{cfg: cfg, from: from, set: set, report: &SnapshotReport{
		Format: 1, Account: cfg.Account, Files: []File{}, Writer: WriterVersion,
	}}
	files, err := t.plan(ctx)
	if err != nil {
		return nil, err
	}
	if t.writer, err = newFileWriter(cfg.ZstdLevel); err != nil {
		return nil, err
	}
	if t.temp, err = os.MkdirTemp("", "orderwire-snapshot-*"); err != nil {
		return nil, storageError("make folder", filepath.Join(os.TempDir(), "orderwire-snapshot-*"), err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.temp)) }()
	for _, account := range slices.Sorted(maps.Keys(files)) {
		if err := t.account(ctx, account, files[account]); err != nil {
			return nil, err
		}
	}
	return t.report, nil
}

// plan returns the files to be read by account.
func (t *taker) plan(ctx context.Context) (map[string][]File, error) {
	commits, err := readManifest(ctx, t.from)
	if err != nil {
		return nil, err
	}
	var head Commit
	if len(commits) > 0 {
		head = commits[len(commits)-1]
	}
	t.report.Archive = SnapshotSource{head.Number, head.SHA256, head.Last}
	t.report.Sequence = cmp.Or(t.cfg.Sequence, head.Last)
	if !t.cfg.At.IsZero() {
		t.report.At = new(t.cfg.At.UTC())
	}
	if t.report.Sequence > head.Last {
		return nil, &ConfigError{"sequence", fmt.Sprintf("is %d, and the archive ends at %d", t.report.Sequence, head.Last),
			"ask for one that it holds, or wait until the archiver is there"}
	}
	return t.choose(Live(commits))
}

// choose keeps the files that may hold an event within the limits.
func (t *taker) choose(live []File) (map[string][]File, error) {
	accounts, files := map[string]bool{}, map[string][]File{}
	for i, f := range live {
		if i == 0 {
			t.first = f.First
		}
		account := accountOf(f.Path)
		accounts[account] = true
		if f.First > t.report.Sequence || t.cfg.Account != "" && account != t.cfg.Account {
			continue
		}
		files[account] = append(files[account], f)
		t.total += f.Rows
	}
	if t.cfg.Account != "" && !accounts[t.cfg.Account] {
		return nil, &ConfigError{"account", fmt.Sprintf("%q is not in the archive", t.cfg.Account),
			"it holds " + cmp.Or(strings.Join(slices.Sorted(maps.Keys(accounts)), ", "), "no event yet")}
	}
	return files, nil
}

// within reports whether an event is within the limits.
func (t *taker) within(r *Row) bool {
	return uint64(r.Sequence) <= t.report.Sequence && (t.cfg.At.IsZero() || !r.StoredAt.After(t.cfg.At))
}

// account writes the states of one account.
func (t *taker) account(ctx context.Context, account string, files []File) error {
	t.parts = 0
	for row, err := range t.states(ctx, files) {
		if err == nil {
			err = t.put(ctx, account, &row)
		}
		if err != nil {
			return errors.Join(err, t.drop())
		}
	}
	return t.end(ctx)
}

// put adds a state to the file under way, or to a new one.
func (t *taker) put(ctx context.Context, account string, r *Row) error {
	if t.out == nil {
		if err := t.begin(ctx, account); err != nil {
			return err
		}
	}
	if err := t.writer.add(ctx, r); err != nil {
		return err
	}
	t.count(r)
	if t.writer.rows() == t.cfg.FileRows {
		return t.end(ctx)
	}
	return nil
}

func (t *taker) begin(ctx context.Context, account string) (err error) {
	t.name = fmt.Sprintf("%s%s/part-%05d%s", accountPrefix, escapeAccount(account), t.parts, extension)
	t.parts++
	if t.out, err = t.set.create(ctx, t.name); err != nil {
		return err
	}
	asOf := []format.KeyValue{{Key: metaAsOfSequence, Value: strconv.FormatUint(t.report.Sequence, 10)}}
	if at := t.report.At; at != nil {
		asOf = append(asOf, format.KeyValue{Key: metaAsOfTime, Value: at.Format(time.RFC3339Nano)})
	}
	return t.writer.begin(t.out, t.first, t.report.Sequence, asOf...)
}

// end completes the file under way, if there is one.
func (t *taker) end(ctx context.Context) error {
	if t.out == nil {
		return nil
	}
	f, err := t.writer.end(ctx)
	if err != nil {
		return errors.Join(err, t.drop())
	}
	out := t.out
	t.out = nil
	f.Path = t.name
	t.report.Files = append(t.report.Files, f)
	return out.seal()
}

func (t *taker) drop() error {
	if t.out == nil {
		return nil
	}
	out := t.out
	t.out = nil
	return out.drop()
}

func (t *taker) count(r *Row) {
	t.report.Orders++
	if r.EventType == string(schema.OrderVanished) {
		t.report.Vanished++
	}
	if sequence := uint64(r.Sequence); sequence > t.report.Last {
		t.report.Last, t.report.LastStored = sequence, new(r.StoredAt.UTC())
	}
}
