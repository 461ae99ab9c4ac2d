package replay

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"slices"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// EndpointLog is what a replay to an endpoint needs of the log.
type EndpointLog interface {
	Log
	// DeadLetters gives what an endpoint has given up.
	DeadLetters(ctx context.Context, endpoint string) iter.Seq2[pipeline.Buried, error]
	// DeadLetter returns one of them by its place; false when it is there no more.
	DeadLetter(ctx context.Context, place uint64) (pipeline.Buried, bool, error)
}

// Job is a replay to an endpoint, beside its live deliveries, whose cursor it
// leaves alone.
type Job struct {
	Request
	Endpoint config.Webhook
	Log      EndpointLog // may be nil when Source is "archive"
	Archive  string      // folder or address
	Logger   *slog.Logger
	// Reached is told now and then how many sequences of how many were read. Nil:
	// nobody asks.
	Reached func(done, total int64)
}

// Run delivers the events, or counts them. Report.Next says where to go on after
// an error; it is 0 when nothing was begun. The error is a [RequestError] when the
// request is wrong.
func (j *Job) Run(ctx context.Context) (r Report, err error) {
	r = Report{To: "webhook=" + j.Endpoint.Name, DryRun: j.DryRun}
	if err := j.Check(); err != nil {
		return r, err
	}
	var concurrency int
	if r.Rate, concurrency, err = j.pace(&j.Endpoint); err != nil {
		return r, err
	}
	endpoint, err := webhook.New(j.Endpoint.Endpoint(j.Logger))
	if err != nil {
		return r, err
	}
	defer endpoint.Close()
	entries, err := j.entries(ctx, &r)
	if err != nil {
		return r, err
	}
	entries = Counted(ctx, r.seen(j.IDs, entries), &r, endpoint.Wants, 0)
	if j.DryRun {
		err = DryRun(entries)
		r.estimate()
	} else {
		err = (&Endpoint{
			Name: j.Endpoint.Name, Deliverer: endpoint, Concurrency: concurrency, RateLimit: r.Rate,
			Schedule: Schedule(j.Endpoint.Schedule()), Logger: j.Logger,
		}).Deliver(ctx, entries, &r)
		r.Delivered = endpoint.Stats().Delivered
	}
	return r, err
}

// entries resolves the range and reads it.
func (j *Job) entries(ctx context.Context, r *Report) (Entries, error) {
	if j.Failures {
		if j.Log == nil {
			return nil, errNoLog
		}
		return j.failures(ctx, r)
	}
	s := &Source{SkipMissing: j.SkipMissing || j.searches(), Logger: j.Logger}
	if j.Log != nil && j.Source != "archive" {
		s.Log = j.Log
	}
	if j.Source != "log" {
		s.Archive = j.Archive
	}
	span, err := s.Resolve(ctx, j.Range)
	if err != nil {
		return nil, err
	}
	r.From, r.Until = span.From, span.Until
	return s.Entries(ctx, span, func(sequence uint64) { j.reached(r, sequence) }), nil
}

// searches reports whether events are looked for by their ids in whatever there is.
func (j *Job) searches() bool { return len(j.IDs) > 0 && j.From == 0 && j.Until == 0 }

func (j *Job) reached(r *Report, sequence uint64) {
	if j.Reached != nil {
		j.Reached(int64(sequence)-int64(r.From)+1, int64(r.Until)-int64(r.From)+1)
	}
}

// failures reads what the endpoint has given up, in the order of the log. What is
// kept of the letters meanwhile is two numbers of each.
func (j *Job) failures(ctx context.Context, r *Report) (Entries, error) {
	places := make(map[uint64]uint64) // by sequence
	for d, err := range j.Log.DeadLetters(ctx, j.Endpoint.Name) {
		if err != nil {
			return nil, err
		}
		if j.wantsLetter(&d) {
			places[d.Sequence] = d.Place
		}
	}
	sequences := make([]uint64, 0, len(places))
	for sequence := range places {
		sequences = append(sequences, sequence)
	}
	slices.Sort(sequences)
	if len(sequences) > 0 {
		r.From, r.Until = sequences[0], sequences[len(sequences)-1]
	} else {
		r.From = 1
	}
	return func(yield func(schema.Entry, error) bool) {
		for i, sequence := range sequences {
			e, ok, err := j.letter(ctx, places[sequence])
			if (ok || err != nil) && !yield(e, err) || err != nil {
				return
			}
			if j.Reached != nil && (i+1)%1024 == 0 {
				j.Reached(int64(i+1), int64(len(sequences)))
			}
		}
	}, nil
}

func (j *Job) wantsLetter(d *pipeline.Buried) bool {
	return d.Sequence > 0 && d.Sequence >= j.From && (j.Until == 0 || d.Sequence <= j.Until) &&
		!d.At.Before(j.Since) && (j.Before.IsZero() || d.At.Before(j.Before)) && j.mentions(d.Raw)
}

// letter reads the event of a dead letter; false when it is not wanted, or cannot
// be delivered in any case.
func (j *Job) letter(ctx context.Context, place uint64) (schema.Entry, bool, error) {
	d, found, err := j.Log.DeadLetter(ctx, place)
	if err != nil || !found {
		return schema.Entry{}, false, err
	}
	e := schema.Entry{Sequence: d.Sequence, Stored: d.At, Subject: d.Subject, Raw: d.Raw}
	if e.Event, err = schema.ParseEvent(d.Raw); err != nil {
		j.Logger.Warn("passed over", "sequence", d.Sequence, "error", fmt.Errorf("%w: %w", pipeline.ErrPoison, err))
		return e, false, nil
	}
	return e, j.wants(&e), nil
}

// estimate says how long the events take at the rate.
func (r *Report) estimate() {
	if r.Rate > 0 {
		r.Seconds = math.Ceil(10*float64(r.Events)/r.Rate) / 10
	}
}

// seen notes which of the ids never come.
func (r *Report) seen(ids []string, entries Entries) Entries {
	if len(ids) == 0 {
		return entries
	}
	r.Unknown = slices.Clone(ids)
	return func(yield func(schema.Entry, error) bool) {
		for e, err := range entries {
			r.Unknown = slices.DeleteFunc(r.Unknown, func(id string) bool { return err == nil && id == e.Event.ID })
			if !yield(e, err) {
				return
			}
		}
	}
}
