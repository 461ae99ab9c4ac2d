package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/progress"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// replayJob is one replay.
type replayJob struct {
	*options
	flags     *replayFlags
	config    *config.Config
	log       *slog.Logger
	perSecond float64
	report    replay.Report
}

func (j *replayJob) run(ctx context.Context) error {
	kind, name, named := strings.Cut(j.flags.to, "=")
	switch {
	case kind == "webhook" && name != "":
		return j.toWebhook(ctx, name)
	case kind == "commission" && !named:
		return j.toCommission(ctx, string(j.config.Commission.DSN))
	case kind == "commission" && name != "":
		return j.toCommission(ctx, name)
	default:
		return usageError{errors.New("--to says who gets the events: webhook=NAME, commission, or commission=DSN")}
	}
}

func (j *replayJob) toWebhook(ctx context.Context, name string) (err error) {
	if j.flags.events == (replay.Range{}) {
		return usageError{errors.New("say which events: --from and --until, or --since and --before")}
	}
	at := slices.IndexFunc(j.config.Webhooks, func(w config.Webhook) bool { return w.Name == name })
	if at < 0 {
		return usageError{fmt.Errorf("%s has no webhook called %q", j.config.File(), name)}
	}
	w := &j.config.Webhooks[at]
	endpoint, err := webhook.New(w.Endpoint(j.log))
	if err != nil {
		return err
	}
	defer endpoint.Close()
	log, err := j.openLog(ctx)
	if err != nil {
		return err
	}
	if log != nil {
		defer func() { err = errors.Join(err, log.Close()) }()
	}
	again := &replay.Endpoint{
		Name: name, Deliverer: endpoint, Concurrency: w.Concurrency, Schedule: replay.Schedule(w.Schedule()), Logger: j.log,
	}
	defer func() { j.report.Delivered = endpoint.Stats().Delivered }()
	return j.hand(ctx, log, endpoint.Wants, func(entries replay.Entries) error { return again.Deliver(ctx, entries, &j.report) })
}

// openLog opens the log to read; nil when it is not wanted.
func (j *replayJob) openLog(ctx context.Context) (*line.Reader, error) {
	if j.flags.source == "archive" {
		return nil, nil
	}
	return line.OpenReader(ctx, j.config, j.log)
}

// hand resolves the range, reads it, and gives its events to a consumer.
func (j *replayJob) hand(ctx context.Context, log *line.Reader, wants func(*schema.Event) bool, deliver func(replay.Entries) error) error {
	source := &replay.Source{SkipMissing: j.flags.skipMissing, Logger: j.log}
	if log != nil && j.flags.source != "archive" {
		source.Log = log
	}
	if j.flags.source != "log" {
		source.Archive = j.config.Archive.Sink(nil).Dir
	}
	r := &j.flags.events
	end, err := source.End(ctx)
	if err != nil {
		return err
	}
	if r.Until > end && j.flags.source == "archive" {
		return &replay.MissingError{From: max(r.From, end+1), Until: r.Until, Places: "the archive at " + source.Archive}
	}
	if r.Until == 0 || r.Until > end {
		r.Until = end
	}
	r.From = max(r.From, 1)
	j.report.From, j.report.Until = r.From, r.Until
	meter := progress.New(j.err, j.log, "replay", "sequences")
	defer meter.Close()
	total := int64(r.Until) - int64(r.From) + 1
	entries := source.Entries(ctx, *r, func(sequence uint64) { meter.Step(int64(sequence)-int64(r.From)+1, total) })
	entries = replay.Counted(ctx, entries, &j.report, wants, j.perSecond)
	if j.flags.dryRun {
		return replay.DryRun(entries)
	}
	return deliver(entries)
}

// partialError says that the commission books cannot take a range, because their
// position would move past events that they have not.
type partialError struct{ problem string }

// Error says what is wrong with the range.
func (e *partialError) Error() string { return "--to commission: " + e.problem }

func (j *replayJob) toCommission(ctx context.Context, dsn string) (err error) {
	r := &j.flags.events
	if !r.Since.IsZero() || !r.Before.IsZero() || r.Account != "" || r.Program != "" || r.Order != "" {
		return usageError{&partialError{"the books take whole ranges of sequences: leave out all but --from and --until"}}
	}
	ctx, log, err := j.holdBooks(ctx, dsn)
	if err != nil {
		return err
	}
	if log != nil {
		defer func() { err = errors.Join(err, log.Close()) }()
	}
	if j.flags.dryRun {
		return j.fill(ctx, log.reader(), dsn, nil)
	}
	books, err := commission.Open(ctx, dsn, commission.InZone(j.config.Commission.Zone()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, books.Close()) }()
	return j.fill(ctx, log.reader(), dsn, books)
}

// fill books the range; books nil is for a dry run.
func (j *replayJob) fill(ctx context.Context, log *line.Reader, dsn string, books *commission.Books) error {
	position, err := booked(ctx, dsn)
	if err != nil {
		return err
	}
	r := &j.flags.events
	if r.From == 0 {
		r.From = position + 1
	}
	if r.From > position+1 {
		return usageError{&partialError{fmt.Sprintf("the books are at sequence %d, and events %d to %d would be left out: leave out --from", position, position+1, r.From-1)}}
	}
	return j.hand(ctx, log, nil, func(entries replay.Entries) error { return replay.Book(ctx, books, entries, &j.report, j.log) })
}

// booked returns the position of the books, 0 when there are none yet.
func booked(ctx context.Context, dsn string) (position uint64, err error) {
	reader, err := commission.OpenReader(ctx, dsn)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, commission.ErrNotBooks) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	return reader.Position(ctx)
}

// booksLog is the log beside a replay into books: held for those of the
// configuration, so that no runner books meanwhile, else only read. Both nil:
// not open.
type booksLog struct {
	held *line.Held
	read *line.Reader
}

func (l *booksLog) reader() *line.Reader {
	switch {
	case l == nil:
		return nil
	case l.held != nil:
		return l.held.Reader
	default:
		return l.read
	}
}

// Close closes what is open.
func (l *booksLog) Close() error {
	if l.held != nil {
		return l.held.Close()
	}
	return l.read.Close()
}

// holdBooks opens the log and keeps others from the books. The context is the one
// to work under.
func (j *replayJob) holdBooks(ctx context.Context, dsn string) (context.Context, *booksLog, error) {
	if !j.flags.dryRun && commission.SameBooks(dsn, string(j.config.Commission.DSN)) {
		ctx, held, err := line.Hold(ctx, j.config, line.Commission, j.log)
		return ctx, &booksLog{held: held}, err
	}
	r, err := j.openLog(ctx)
	if err != nil || r == nil {
		return ctx, nil, err
	}
	return ctx, &booksLog{read: r}, nil
}

func (j *replayJob) print() error {
	r := &j.report
	if j.flags.form == "json" {
		return printJSON(j.out, r)
	}
	out := tabwriter.NewWriter(j.out, 0, 4, 2, ' ', 0)
	if r.Until < r.From {
		fmt.Fprintf(out, "nothing to do\teverything up to sequence %d is there already\n", r.Until)
		return out.Flush()
	}
	fmt.Fprintf(out, "range\t%d to %d\n", r.From, r.Until)
	fmt.Fprintf(out, "events\t%d, sequences %d to %d\n", r.Events, r.First, r.Last)
	for _, t := range slices.Sorted(maps.Keys(r.Types)) {
		fmt.Fprintf(out, "  %s\t%d\n", t, r.Types[t])
	}
	switch {
	case r.DryRun:
		fmt.Fprintf(out, "dry run\tnothing was sent to %s\n", r.To)
	case strings.HasPrefix(r.To, "webhook"):
		fmt.Fprintf(out, "delivered\t%d\n", r.Delivered)
	default:
		fmt.Fprintf(out, "booked\t%d, %d of them known before, %d refused\n", r.Events, r.Known, r.Refused)
	}
	if r.Next > 0 {
		fmt.Fprintf(out, "go on with\t--from %d\n", r.Next)
	}
	return out.Flush()
}
