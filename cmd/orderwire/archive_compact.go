package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/progress"
	"github.com/orderwire/orderwire/sinks/archive"
)

// compactFlags are the flags of `orderwire archive compact`.
type compactFlags struct {
	file      string
	form      string
	archive   string
	account   string
	size      string
	closedFor time.Duration
	dryRun    bool
}

func newArchiveCompact(o *options) *cobra.Command {
	var f compactFlags
	c := &cobra.Command{
		Use:   "compact -c FILE",
		Short: "Merge the small files of closed days into large ones",
		Long: `Merges the files of each account and day that has ended, as event_date has it, into
files of a set size. The manifest records it with the same proof as a batch, and
"orderwire verify" holds afterwards as before. Events that come late get files of their
own, which a later run merges as well. A file that is damaged is never merged.

It works beside a running "orderwire run": start it once a day. A query that lists the
files of a partition in the moment in which they are exchanged never sees an event
twice, and may miss some of that partition; run it in quiet hours if that matters.
What a crash leaves unfinished, the next run finishes, or the next start of the archive.

Exit code 1 says that something could not be merged; what was done before stays done.`,
		Example: `  orderwire archive compact -c orderwire.yaml
  orderwire archive compact -c orderwire.yaml --dry-run
  orderwire archive compact -c orderwire.yaml --account main --size 512MiB -o json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return compactArchive(c.Context(), o, f) },
	}
	configFlag(c, &f.file)
	outputFlag(c, &f.form, "table", "json")
	c.Flags().StringVar(&f.size, "size", "256MiB", "what a merged file should not exceed, 1MiB to 4GiB")
	c.Flags().DurationVar(&f.closedFor, "closed-for", archive.DefaultClosedFor, "how long ago a day must have ended, in UTC")
	c.Flags().StringVar(&f.account, "account", "", "only the files of this account")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be merged, and change nothing")
	c.Flags().StringVar(&f.archive, "archive", "", "another archive than that of the configuration: a folder, or s3://bucket/prefix")
	return c
}

func compactArchive(ctx context.Context, o *options, f compactFlags) error {
	c, place, err := loadArchive(f.file, f.archive)
	if err != nil {
		return err
	}
	var size config.Bytes
	if err := size.UnmarshalText([]byte(f.size)); err != nil {
		return usageError{fmt.Errorf("--size: %w", err)}
	}
	if size == 0 || f.closedFor <= 0 { // the package takes 0 for its default
		return usageError{errors.New("--size and --closed-for must be more than 0")}
	}
	meter := progress.New(o.err, o.logger(), "compact", "events")
	done, err := archive.Compact(ctx, archive.CompactConfig{
		Dir: place, FileBytes: int64(size), ClosedFor: f.closedFor, Account: f.account,
		DryRun: f.dryRun, Progress: meter.Step, Logger: o.logger(),
	})
	meter.Close()
	var mistake *archive.ConfigError
	if errors.As(err, &mistake) {
		return usageError{err}
	}
	if done == nil {
		return err
	}
	if err == nil && f.archive == "" && !f.dryRun {
		err = line.FollowTable(ctx, c, o.logger())
	}
	return errors.Join(printCompaction(o.out, f, done), err)
}

func printCompaction(w io.Writer, f compactFlags, c *archive.Compaction) error {
	if f.form == "json" {
		return printJSON(w, c)
	}
	size := func(n int64) string { return humanize.IBytes(uint64(n)) }
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	switch {
	case f.dryRun && c.Partitions == 0:
		fmt.Fprintln(out, "nothing to merge")
	case f.dryRun:
		fmt.Fprintf(out, "would merge\t%d files of %d partitions into %d\n", c.FilesBefore, c.Partitions, c.FilesAfter)
		fmt.Fprintf(out, "events\t%d\n", c.Events)
		fmt.Fprintf(out, "size\t%s\n", size(c.BytesBefore))
	case c.Partitions == 0:
		fmt.Fprintln(out, "nothing merged")
	default:
		fmt.Fprintf(out, "merged\t%d files of %d partitions into %d\n", c.FilesBefore, c.Partitions, c.FilesAfter)
		fmt.Fprintf(out, "events\t%d\n", c.Events)
		fmt.Fprintf(out, "size\t%s, before %s\n", size(c.BytesAfter), size(c.BytesBefore))
	}
	if c.Finished > 0 {
		fmt.Fprintf(out, "finished\t%d that an earlier run had left\n", c.Finished)
	}
	if c.Overtaken > 0 {
		fmt.Fprintf(out, "overtaken\t%d partitions, merged by another run meanwhile\n", c.Overtaken)
	}
	return out.Flush()
}
