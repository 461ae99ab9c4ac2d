package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/progress"
	"github.com/orderwire/orderwire/sinks/archive"
)

// snapshotFlags are the flags of `orderwire archive snapshot`.
type snapshotFlags struct {
	file     string
	form     string
	to       string
	archive  string
	at       string
	sequence uint64
	account  string
}

func newArchiveSnapshot(o *options) *cobra.Command {
	var f snapshotFlags
	c := &cobra.Command{
		Use:   "snapshot -c FILE --to DIR",
		Short: "Write the last state of every order, as of now, a time or a sequence",
		Long: `Writes one Parquet set with the last event of every order that the archive holds: what
did we believe at that time? The set has the archive's columns, one row for each order,
in files account=…/part-00000.parquet, and says in _orderwire/snapshot.json as of when
it is and what it was taken from. Nothing may be at its place yet, and a run that fails
leaves nothing there.

--at takes what the log had stored by then (stored_at, the broker's time), and not what
the network had answered by then (observed_at): until an event is in the log, nobody can
have believed it. An order that the network no longer lists stays in the set, with the
event_type order.vanished.

It works beside a running "orderwire run" and beside a compaction.`,
		Example: `  orderwire archive snapshot -c orderwire.yaml --to ./believed --at 2026-11-01T00:00:00Z
  orderwire archive snapshot -c orderwire.yaml --to 's3://lake/states?region=eu-central-1' --account main -o json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return archiveSnapshot(c, o, f) },
	}
	configFlag(c, &f.file)
	outputFlag(c, &f.form, "table", "json")
	c.Flags().StringVar(&f.to, "to", "", "where the set goes: an empty folder or a new one, or s3://bucket/prefix (required)")
	c.Flags().StringVar(&f.at, "at", "", "as of this time: 2026-11-01T00:00:00Z, or 2026-11-01 for the end of that day in UTC")
	c.Flags().Uint64Var(&f.sequence, "sequence", 0, "as of this sequence of the log")
	c.Flags().StringVar(&f.account, "account", "", "only this account")
	c.Flags().StringVar(&f.archive, "archive", "", "another archive than that of the configuration, such as a copy")
	return c
}

func archiveSnapshot(c *cobra.Command, o *options, f snapshotFlags) error {
	cfg, err := f.config(c)
	if err != nil {
		return err
	}
	meter := progress.New(o.err, o.logger(), "snapshot", "events")
	cfg.Progress = meter.Step
	report, err := takeSnapshot(c.Context(), cfg)
	meter.Close()
	if err != nil {
		return err
	}
	if report.At != nil && report.Later == 0 {
		o.logger().Warn("the archive holds no event that was stored later, so the log may hold some from before that time that are not archived yet",
			"at", report.At, "archived_up_to", report.Archive.Position)
	}
	return printSnapshot(o.out, f, cfg.To, report)
}

// takeSnapshot makes what cannot be asked a mistake of usage.
func takeSnapshot(ctx context.Context, cfg archive.SnapshotConfig) (*archive.SnapshotReport, error) {
	report, err := archive.Snapshot(ctx, cfg)
	var mistake *archive.ConfigError
	if errors.As(err, &mistake) {
		return nil, usageError{err}
	}
	return report, err
}

// config checks the flags.
func (f *snapshotFlags) config(c *cobra.Command) (archive.SnapshotConfig, error) {
	none := archive.SnapshotConfig{}
	if f.to == "" {
		return none, usageError{errors.New("--to is missing: name a folder for the set, or s3://bucket/prefix")}
	}
	if c.Flags().Changed("sequence") && f.sequence == 0 {
		return none, usageError{errors.New("--sequence: the first sequence is 1")}
	}
	at, err := parseAsOf(f.at)
	if err != nil {
		return none, usageError{fmt.Errorf("--at: %w", err)}
	}
	to, err := parsePlace("to", f.to)
	if err != nil {
		return none, err
	}
	_, from, err := loadArchive(f.file, f.archive)
	if err != nil {
		return none, err
	}
	return archive.SnapshotConfig{Dir: from, To: to, At: at, Sequence: f.sequence, Account: f.account}, nil
}

// parseAsOf reads a time, or a day as its last microsecond in UTC. "" is the zero
// time.
func parseAsOf(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		return day.AddDate(0, 0, 1).Add(-time.Microsecond), nil
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time; write 2026-11-01T00:00:00Z, or 2026-11-01 for the end of that day in UTC", s)
	}
	return at, nil
}

func printSnapshot(w io.Writer, f snapshotFlags, to string, r *archive.SnapshotReport) error {
	if f.form == "json" {
		return printJSON(w, r)
	}
	asOf := fmt.Sprintf("sequence %d", r.Sequence)
	if r.At != nil {
		asOf = r.At.Format(time.RFC3339Nano)
	}
	newest := "no event"
	if r.LastStored != nil {
		newest = fmt.Sprintf("sequence %d, stored at %s", r.Last, r.LastStored.Format(time.RFC3339Nano))
	}
	size := int64(0)
	for i := range r.Files {
		size += r.Files[i].Bytes
	}
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(out, "as of\t%s\n", asOf)
	fmt.Fprintf(out, "newest event\t%s\n", newest)
	fmt.Fprintf(out, "orders\t%d, %d of them vanished\n", r.Orders, r.Vanished)
	fmt.Fprintf(out, "events read\t%d, %d of them later\n", r.Events, r.Later)
	fmt.Fprintf(out, "archive\tup to sequence %d, commit %d\n", r.Archive.Position, r.Archive.Commits)
	fmt.Fprintf(out, "files\t%d, %d bytes, in %s\n", len(r.Files), size, to)
	return out.Flush()
}
