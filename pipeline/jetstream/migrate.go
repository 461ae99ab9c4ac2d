package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// mostRaces bounds how often a stream is looked at again because another
// process changed it meanwhile.
const mostRaces = 5

// ensure creates the streams and buckets, or brings their settings up to date.
// All are looked at before the first is changed, so that a refusal leaves
// everything as it was.
func ensure(ctx context.Context, js jetstream.JetStream, c StreamConfig, log *slog.Logger) error {
	plans, err := inspect(ctx, js, c)
	if err != nil {
		return err
	}
	if err := refusals(plans); err != nil {
		return err
	}
	for _, b := range c.blueprints() {
		err := c.bring(ctx, js, b, log)
		if b.expendable && refusedForGood(err) {
			log.Warn("going on without a stream", "error", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func refusals(plans []StreamPlan) error {
	var all []error
	for _, p := range plans {
		if p.Refused != nil {
			all = append(all, p.Refused)
		}
	}
	return errors.Join(all...)
}

// inspect says what ensure would do.
func inspect(ctx context.Context, js jetstream.JetStream, c StreamConfig) ([]StreamPlan, error) {
	var plans []StreamPlan
	for _, b := range c.blueprints() {
		p, _, err := c.plan(ctx, js, b)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// bring makes one stream as configured. Another process may do the same at the
// same time: the one that comes second looks again, and finds it done.
func (c StreamConfig) bring(ctx context.Context, js jetstream.JetStream, b blueprint, log *slog.Logger) error {
	var last error
	for range mostRaces {
		plan, wanted, err := c.plan(ctx, js, b)
		switch {
		case err != nil:
			return err
		case plan.Refused != nil:
			return plan.Refused
		case plan.New:
			_, err = js.CreateStream(ctx, wanted)
		case len(plan.Changes) == 0:
			return nil
		default:
			_, err = js.UpdateStream(ctx, wanted)
		}
		if err == nil {
			log.Info(plan.String())
			return nil
		}
		if last = fmt.Errorf("stream %s: %w", b.base.Name, hint(err)); !isRace(err) {
			return last
		}
	}
	return last
}

// refusedForGood reports whether the server has said no, which trying again does
// not change: because of its limits, for instance.
func refusedForGood(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && !unavailable(err)
}

// isRace reports whether a request may have failed because somebody else made
// or removed the stream since it was looked at.
func isRace(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || errors.Is(err, jetstream.ErrStreamNotFound)
}

// plan compares a stream with its blueprint, and returns the configuration that
// it should get.
func (c StreamConfig) plan(ctx context.Context, js jetstream.JetStream, b blueprint) (StreamPlan, jetstream.StreamConfig, error) {
	p := StreamPlan{Stream: b.base.Name}
	s, err := js.Stream(ctx, p.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		p.New = true
		wanted := b.fresh()
		p.Refused, err = overlap(ctx, js, wanted)
		return p, wanted, err
	}
	if err != nil {
		return p, jetstream.StreamConfig{}, fmt.Errorf("stream %s: %w", p.Stream, hint(err))
	}
	old := s.CachedInfo().Config
	if why := b.foreign(&old); why != "" {
		p.Refused = &MigrationError{Stream: p.Stream, Reason: "there is a stream of this name that is not Orderwire's: " + why,
			Hint: "rename or remove it, or give Orderwire a NATS account of its own"}
		return p, old, nil
	}
	wanted := b.adapted(old)
	p.Changes = changes(&old, &wanted)
	c.AllowDataLoss = c.AllowDataLoss || b.expendable
	p.Refused, err = c.refuse(ctx, s, &wanted)
	return p, wanted, err
}

// overlap refuses a new stream whose subjects some other stream has already.
func overlap(ctx context.Context, js jetstream.JetStream, wanted jetstream.StreamConfig) (*MigrationError, error) {
	for _, subject := range wanted.Subjects {
		names := js.StreamNames(ctx, jetstream.WithStreamListSubject(subject))
		var others []string
		for name := range names.Name() {
			if name != wanted.Name { // made by another process meanwhile
				others = append(others, name)
			}
		}
		if err := names.Err(); err != nil {
			return nil, fmt.Errorf("streams with subjects %s: %w", subject, hint(err))
		}
		if len(others) > 0 {
			return &MigrationError{Stream: wanted.Name, Reason: fmt.Sprintf("stream %s has subjects that overlap with %s", strings.Join(others, ", "), subject),
				Hint: "change its subjects, or give Orderwire a NATS account of its own"}, nil
		}
	}
	return nil, nil
}

// hint adds what to do to errors that a new installation meets.
func hint(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w (start the NATS server with JetStream: nats-server -js)", err)
	case errors.As(err, &api) && api.ErrorCode == codeNoReplicas:
		return fmt.Errorf("%w (a single NATS server holds one replica: set nats.replicas to 1, or nats.url to a cluster)", err)
	case errors.As(err, &api) && slices.Contains(codesNoSpace, api.ErrorCode):
		return fmt.Errorf("%w (a bounded stream reserves its space: lower nats.max_bytes or nats.attempts_max_bytes, or give the server more)", err)
	case errors.As(err, &api) && api.ErrorCode == codeNoPeers:
		return fmt.Errorf("%w (nats.replicas needs as many servers with JetStream, with enough space: see nats server report jetstream)", err)
	default:
		return err
	}
}

// Codes of the server that the client library has no names for.
const (
	codeNoPeers    jetstream.ErrorCode = 10005
	codeNoReplicas jetstream.ErrorCode = 10074
)

// codesNoSpace are the server's refusals of a stream whose bytes it cannot reserve.
var codesNoSpace = []jetstream.ErrorCode{10002, 10028, 10047}
