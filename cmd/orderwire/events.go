package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/describe"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/schema"
)

const (
	// reattachEvery is the pause before the log is looked for anew, when the
	// process that kept it has ended.
	reattachEvery = 500 * time.Millisecond
	// mostFailures is how often in a row that may fail.
	mostFailures = 5
)

// eventsFlags are the flags of `orderwire events`.
type eventsFlags struct {
	file   string
	form   string
	follow bool
	after  uint64
	order  string
}

func newEvents(o *options) *cobra.Command {
	var f eventsFlags
	c := &cobra.Command{
		Use:   "events -c FILE",
		Short: "List the events of the log, or follow it",
		Long: `Prints the events of the log, oldest first, one a line: as text for people, or with
-o json as CloudEvents 1.0 documents. It works beside a running "orderwire run" and
after it has ended. With --follow it goes on until it is stopped.`,
		Example: `  orderwire events -c orderwire.yaml -o json | jq .type
  orderwire events -c orderwire.yaml --follow`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return events(c.Context(), o, f) },
	}
	configFlag(c, &f.file)
	outputFlag(c, &f.form, "text", "json")
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on with what is still to come")
	c.Flags().Uint64Var(&f.after, "after", 0, "begin behind this sequence")
	c.Flags().StringVar(&f.order, "order", "", "only this order number")
	return c
}

func events(ctx context.Context, o *options, f eventsFlags) error {
	c, err := config.Load(f.file)
	if err != nil {
		return err
	}
	p := &printer{out: bufio.NewWriter(o.out), log: o.logger(), flags: f, last: f.after}
	for failures := 0; ; {
		before := p.last
		done, err := p.pass(ctx, c)
		if p.last > before {
			failures = 0
		}
		if err != nil {
			failures++
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // stopped by the reader, which is no failure
		case err != nil && (failures == mostFailures || c.NATS.URL != "" || errors.Is(err, jetstream.ErrNoLog)):
			return err
		case err == nil && done && !f.follow:
			return nil
		}
		select {
		case <-time.After(reattachEvery): // whoever kept the log has just ended, or nobody keeps it now
		case <-ctx.Done():
			return nil
		}
	}
}

// printer writes events and remembers how far it got.
type printer struct {
	out   *bufio.Writer
	log   *slog.Logger
	flags eventsFlags
	last  uint64
}

// pass reads the log once: to its present end, or, where somebody else keeps it
// and more may come, until ctx ends. It is not done when whoever kept the log
// ended before that.
func (p *printer) pass(ctx context.Context, c *config.Config) (done bool, err error) {
	log, err := line.OpenReader(ctx, c, p.log)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	end, err := log.Last(ctx)
	if err != nil {
		return false, err
	}
	if p.flags.follow && log.Live {
		return false, p.copy(ctx, log, 0)
	}
	if end > p.last {
		err = p.copy(ctx, log, end)
	}
	return p.last >= end, err
}

// copy prints up to a sequence, 0 for no end.
func (p *printer) copy(ctx context.Context, log *line.Reader, end uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := log.Follow(ctx, p.last)
	if err != nil {
		return err
	}
	for msg := range in {
		msg.Ack()
		e, err := pipeline.ReadEntry(msg)
		if e.Sequence == 0 {
			return err
		}
		if err := p.print(e, err); err != nil {
			return err
		}
		if p.last = e.Sequence; p.last == end {
			break
		}
		if len(in) == 0 {
			if err := p.out.Flush(); err != nil {
				return err
			}
		}
	}
	return p.out.Flush()
}

// print writes one event; one that is unreadable is named on standard error.
func (p *printer) print(e schema.Entry, unreadable error) error {
	if unreadable != nil {
		p.log.Warn("passed over", "sequence", e.Sequence, "error", unreadable)
		return nil
	}
	if p.flags.order != "" && e.Event.Data.Order.OrderSn.String() != p.flags.order {
		return nil
	}
	if p.flags.form != "json" {
		_, err := fmt.Fprintln(p.out, describe.Line(e))
		return err
	}
	document := jsontext.Value(e.Raw)
	if bytes.IndexByte(document, '\n') >= 0 { // written by somebody else's publisher
		document = document.Clone()
		if err := document.Compact(); err != nil {
			return fmt.Errorf("event %d: %w", e.Sequence, err)
		}
	}
	if _, err := p.out.Write(document); err != nil {
		return err
	}
	return p.out.WriteByte('\n')
}
