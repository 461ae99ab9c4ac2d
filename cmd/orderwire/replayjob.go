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
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/progress"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/sinks/commission"
)

// replayJob is one replay.
type replayJob struct {
	*options
	flags   *replayFlags
	request *replay.Request
	config  *config.Config
	log     *slog.Logger
	report  replay.Report
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
	if err := j.request.Check(); err != nil {
		return err
	}
	job := &replay.Job{Request: *j.request, Archive: j.config.Archive.Sink(nil).Dir, Logger: j.log}
	at := slices.IndexFunc(j.config.Webhooks, func(w config.Webhook) bool { return w.Name == name })
	if at >= 0 {
		job.Endpoint = j.config.Webhooks[at]
	}
	if at < 0 || j.request.Source != "archive" || j.request.Failures {
		var log *line.Reader
		log, err = line.OpenReader(ctx, j.config, j.log)
		if at < 0 && errors.Is(err, jetstream.ErrNoLog) { // nor was one added
			return j.unknown(name)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, log.Close()) }()
		job.Log = log
		if at < 0 {
			if job.Endpoint, err = j.added(ctx, log, name); err != nil {
				return err
			}
		}
	}
	meter := progress.New(j.err, j.log, "replay", "sequences")
	defer meter.Close()
	job.Reached = meter.Step
	j.report, err = job.Run(ctx)
	return err
}

func (j *replayJob) unknown(name string) error {
	return usageError{fmt.Errorf("%s has no webhook called %q, and none was added", j.config.File(), name)}
}

// added looks for an endpoint that was added by command.
func (j *replayJob) added(ctx context.Context, log *line.Reader, name string) (config.Webhook, error) {
	all, err := endpoints.New(j.config, log.Log, j.log).Webhooks(ctx)
	if err != nil {
		return config.Webhook{}, err
	}
	at := slices.IndexFunc(all, func(w config.Webhook) bool { return w.Name == name })
	if at < 0 {
		return config.Webhook{}, j.unknown(name)
	}
	return all[at], nil
}

// openLog opens the log to read; nil when it is not wanted.
func (j *replayJob) openLog(ctx context.Context) (*line.Reader, error) {
	if j.request.Source == "archive" {
		return nil, nil
	}
	return line.OpenReader(ctx, j.config, j.log)
}

// hand resolves the range of the books, reads it, and gives its events to them.
func (j *replayJob) hand(ctx context.Context, log *line.Reader, deliver func(replay.Entries) error) error {
	source := &replay.Source{SkipMissing: j.request.SkipMissing, Logger: j.log}
	if log != nil && j.request.Source != "archive" {
		source.Log = log
	}
	if j.request.Source != "log" {
		source.Archive = j.config.Archive.Sink(nil).Dir
	}
	r, err := source.Resolve(ctx, j.request.Range)
	if err != nil {
		return err
	}
	perSecond, _, err := replay.ParseRate(j.request.Rate)
	if err != nil {
		return err
	}
	j.report.From, j.report.Until = r.From, r.Until
	meter := progress.New(j.err, j.log, "replay", "sequences")
	defer meter.Close()
	total := int64(r.Until) - int64(r.From) + 1
	entries := source.Entries(ctx, r, func(sequence uint64) { meter.Step(int64(sequence)-int64(r.From)+1, total) })
	entries = replay.Counted(ctx, entries, &j.report, nil, perSecond)
	if j.request.DryRun {
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
	if q := j.request; q.Failures || q.Concurrency != 0 || !q.Only(replay.Range{From: q.From, Until: q.Until}) {
		return usageError{&partialError{"the books take whole ranges of sequences: leave out all but --from and --until"}}
	}
	if err := j.request.CheckRange(); err != nil {
		return err
	}
	ctx, log, err := j.holdBooks(ctx, dsn)
	if err != nil {
		return err
	}
	if log != nil {
		defer func() { err = errors.Join(err, log.Close()) }()
	}
	if j.request.DryRun {
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
	r := &j.request.Range
	if r.From == 0 {
		r.From = position + 1
	}
	if r.From > position+1 {
		return usageError{&partialError{fmt.Sprintf("the books are at sequence %d, and events %d to %d would be left out: leave out --from", position, position+1, r.From-1)}}
	}
	return j.hand(ctx, log, func(entries replay.Entries) error { return replay.Book(ctx, books, entries, &j.report, j.log) })
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
	if !j.request.DryRun && commission.SameBooks(dsn, string(j.config.Commission.DSN)) {
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
	switch {
	case r.Until < r.From && j.request.Failures:
		fmt.Fprintf(out, "nothing to do\tthe endpoint has given up on nothing of that\n")
		return out.Flush()
	case r.Until < r.From:
		fmt.Fprintf(out, "nothing to do\teverything up to sequence %d is there already\n", r.Until)
		return out.Flush()
	}
	fmt.Fprintf(out, "range\t%d to %d\n", r.From, r.Until)
	fmt.Fprintf(out, "events\t%d, sequences %d to %d\n", r.Events, r.First, r.Last)
	for _, t := range slices.Sorted(maps.Keys(r.Types)) {
		fmt.Fprintf(out, "  %s\t%d\n", t, r.Types[t])
	}
	switch {
	case r.DryRun && r.Rate > 0:
		fmt.Fprintf(out, "duration\t%s or longer, at %g/s\n", time.Duration(r.Seconds*float64(time.Second)), r.Rate)
		fallthrough
	case r.DryRun:
		fmt.Fprintf(out, "dry run\tnothing was sent to %s\n", r.To)
	case strings.HasPrefix(r.To, "webhook"):
		fmt.Fprintf(out, "delivered\t%d\n", r.Delivered)
	default:
		fmt.Fprintf(out, "booked\t%d, %d of them known before, %d refused\n", r.Events, r.Known, r.Refused)
	}
	for _, id := range r.Unknown {
		fmt.Fprintf(out, "not found\t%s\n", id)
	}
	if r.Next > 0 {
		fmt.Fprintf(out, "go on with\t--from %d\n", r.Next)
	}
	return out.Flush()
}
