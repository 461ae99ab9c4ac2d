package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/describe"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// reattachEvery is how often --follow looks for a process that keeps the log.
const reattachEvery = 500 * time.Millisecond

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
	for {
		live, err := p.pass(ctx, c)
		if err != nil || !f.follow || ctx.Err() != nil {
			return err
		}
		if live {
			continue
		}
		select {
		case <-time.After(reattachEvery): // nobody keeps the log just now
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
// and more may come, until ctx ends.
func (p *printer) pass(ctx context.Context, c *config.Config) (live bool, err error) {
	log, err := line.OpenReader(ctx, c, p.log)
	if err != nil {
		return false, err
	}
	defer func() {
		if e := log.Close(); err == nil {
			err = e
		}
	}()
	end, err := log.Last(ctx)
	if err != nil {
		return log.Live, err
	}
	if p.flags.follow && log.Live {
		end = 0
	} else if end <= p.last {
		return log.Live, nil
	}
	return log.Live, p.copy(ctx, log, end)
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
