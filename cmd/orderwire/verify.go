package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/progress"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/sinks/archive"
)

// logPatience is how long verify waits for the log's next event.
const logPatience = 30 * time.Second

// verifyFlags are the flags of `orderwire verify`.
type verifyFlags struct {
	file       string
	form       string
	archive    string
	withoutLog bool
}

func newVerify(o *options) *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify -c FILE",
		Short: "Prove that the archive holds every event once",
		Long: `Reads the whole archive and proves that the manifest's chain holds, that every file
is the one that was written and its rows agree with the manifest's counts and sums,
that nothing else lies where readers look, and that each event of the log up to the
archive's position stands in exactly one row. No file of it is changed; the outcome is
noted beside the manifest, in _orderwire/verified.json, for the console. It works beside
a running "orderwire run": files of a commit under way are no fault. Events that the log
no longer keeps are counted apart.

Exit code 1 says that something is wrong, and lists what, where and what to do.`,
		Example: `  orderwire verify -c orderwire.yaml
  orderwire verify -c orderwire.yaml --archive /mnt/copy --without-log -o json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return verify(c.Context(), o, f) },
	}
	configFlag(c, &f.file)
	outputFlag(c, &f.form, "table", "json")
	c.Flags().StringVar(&f.archive, "archive", "", "another archive than that of the configuration, such as a copy: a folder, or s3://bucket/prefix")
	c.Flags().BoolVar(&f.withoutLog, "without-log", false, "look at the archive alone")
	return c
}

func verify(ctx context.Context, o *options, f verifyFlags) error {
	c, place, err := loadArchive(f.file, f.archive)
	if err != nil {
		return err
	}
	meter := progress.New(o.err, o.logger(), "verify", "rows")
	cfg := archive.VerifyConfig{Dir: place, Progress: meter.Step}
	if !f.withoutLog {
		cfg.Log = &loggedEvents{config: c, log: o.logger()}
	}
	begun := time.Now()
	found, err := archive.Verify(ctx, cfg)
	meter.Close()
	if err != nil {
		return err
	}
	ended := time.Now()
	if err := archive.NoteVerified(ctx, place, found.Noted(ended, ended.Sub(begun), cfg.Log != nil)); err != nil {
		o.logger().Warn("the outcome cannot be noted at the archive, so the console shows the one before", "error", err)
	}
	if err := printVerification(o.out, f, found); err != nil {
		return err
	}
	if n := int64(len(found.Findings)) + found.Omitted; n > 0 {
		return fmt.Errorf("the archive at %s is not sound: findings: %d", cfg.Dir, n)
	}
	return nil
}

func printVerification(w io.Writer, f verifyFlags, v *archive.Verification) error {
	if f.form == "json" {
		return printJSON(w, v)
	}
	against := fmt.Sprintf("%d found in the log, %d no longer in the log", v.Compared, v.Gone)
	if f.withoutLog {
		against = "not compared with the log"
	}
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(out, "commits\t%d, up to sequence %d\n", v.Commits, v.Last)
	fmt.Fprintf(out, "files\t%d, %d without sums, %d under way\n", v.Files, v.WithoutSums, len(v.UnderWay))
	fmt.Fprintf(out, "events\t%d, %s\n", v.Rows, against)
	fmt.Fprintf(out, "findings\t%d\n", int64(len(v.Findings))+v.Omitted)
	if err := out.Flush(); err != nil {
		return err
	}
	for _, found := range v.Findings {
		place := found.Path
		if place == "" {
			place = "log"
		}
		if _, err := fmt.Fprintf(w, "%s  %s: %s; %s\n", found.Kind, place, found.What, found.Do); err != nil {
			return err
		}
	}
	return nil
}

// loggedEvents is the log of a configuration, opened when it is read.
type loggedEvents struct {
	config *config.Config
	log    *slog.Logger
}

// Events implements [archive.EventLog].
func (l *loggedEvents) Events(ctx context.Context, last uint64) iter.Seq2[archive.LogEvent, error] {
	return func(yield func(archive.LogEvent, error) bool) {
		taken := true
		err := l.read(ctx, last, func(e archive.LogEvent) bool {
			taken = yield(e, nil)
			return taken
		})
		if err != nil && taken {
			yield(archive.LogEvent{}, fmt.Errorf("%w (--without-log leaves it out)", err))
		}
	}
}

// read hands events over up to a sequence, or until take wants no more.
func (l *loggedEvents) read(ctx context.Context, last uint64, take func(archive.LogEvent) bool) (err error) {
	log, err := line.OpenReader(ctx, l.config, l.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	end, err := log.Last(ctx)
	if err != nil || end == 0 {
		return err
	}
	if end < last {
		return fmt.Errorf("the log ends at sequence %d, and the archive at %d: is this the log that it was filled from?", end, last)
	}
	return follow(ctx, log, last, take)
}

// follow reads the log from its first event, as read does. Its sequence last, or
// one behind it, is in the log.
func follow(ctx context.Context, log *line.Reader, last uint64, take func(archive.LogEvent) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := log.Follow(ctx, 0)
	if err != nil {
		return err
	}
	patience := time.NewTimer(logPatience)
	defer patience.Stop()
	for {
		patience.Reset(logPatience)
		select {
		case msg, open := <-in:
			if !open {
				return errors.Join(ctx.Err(), errors.New("the connection to the log has ended"))
			}
			msg.Ack()
			e, err := pipeline.ReadEntry(msg)
			switch {
			case err != nil && e.Sequence == 0:
				return err
			case e.Sequence > last, !take(archive.LogEvent{Sequence: e.Sequence, ID: e.Event.ID}), e.Sequence == last:
				return nil
			}
		case <-patience.C:
			return fmt.Errorf("the log has sent nothing for %s", logPatience)
		}
	}
}
