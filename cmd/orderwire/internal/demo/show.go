package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/describe"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

const (
	showEvery  = 2 * time.Second
	mostEvents = 3 // lines of single events between two lines of figures
)

func (d *Demo) printf(format string, args ...any) { fmt.Fprintf(d.cfg.Out, format, args...) }

func (d *Demo) greet() {
	d.printf("The console, for a browser on this machine:       http://%s\n", d.console.Addr())
	d.printf("A network with orders that change runs at    http://%s\n", d.network.Addr())
	d.printf("Orderwire polls it every second, into the log at  %s\n", d.line.LogAddress())
	d.printf("A receiver checks the signature of every webhook  http://%s\n\n", d.hooks.Addr())
}

// show prints single events as they come, and figures every other second.
func (d *Demo) show(ctx context.Context) error {
	in, err := d.line.Follow(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(showEvery)
	defer tick.Stop()
	shown := 0
	for {
		select {
		case msg, open := <-in:
			if !open {
				return nil
			}
			msg.Ack()
			e, err := pipeline.ReadEntry(msg)
			if err == nil && e.Event.Type != schema.OrderCreated && shown < mostEvents {
				shown++
				d.printf("  %s\n", describe.Line(e))
			}
		case <-tick.C:
			shown = 0
			if err := d.figures(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// figures prints one line on how everything stands.
func (d *Demo) figures(ctx context.Context) error {
	s, err := d.line.Status(ctx)
	if err != nil {
		return err
	}
	commission, err := d.commission(ctx)
	if err != nil {
		return err
	}
	files := d.line.Archived()
	d.printf("%s  orders %s | events %s | archive %d files, %s | webhooks %s delivered | %s\n",
		time.Now().Format(time.TimeOnly), humanize.Comma(int64(s.Orders)), humanize.Comma(int64(s.Last)),
		files.Files, humanize.IBytes(uint64(files.Bytes)), humanize.Comma(d.receiver.taken.Load()), commission)
	for _, a := range s.Accounts {
		if a.Failure != "" {
			d.printf("  account %s: %s\n", a.Name, a.Failure)
		}
	}
	return nil
}

// commission tells the sums by currency and status.
func (d *Demo) commission(ctx context.Context) (string, error) {
	totals, err := d.line.Totals(ctx)
	if err != nil {
		return "", err
	}
	var parts []string
	currency := ""
	for _, t := range totals {
		if t.StatusName == schema.Invalid.String() {
			continue
		}
		part := strings.ToLower(t.StatusName) + " " + t.Commission.String()
		if t.Currency != currency {
			currency = t.Currency
			part = "commission " + currency + " " + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", "), nil
}

func (d *Demo) summary(ctx context.Context) error {
	d.printf("\nSummary\n")
	if err := d.figures(ctx); err != nil {
		return err
	}
	files := d.line.Archived()
	d.printf(`
Everything is in %s:
  orderwire.yaml   the configuration of this demo
  network.db       the network's orders
  data/            the log, the Parquet archive (%d files), the commission books

Try next:
  %[3]s events -c %[4]s | tail
  %[3]s events -c %[4]s -o json | head -1
  %[3]s report -c %[4]s
Start the demo again, and it goes on where it ended.
`, d.cfg.Dir, files.Files, d.cfg.Program, d.file)
	return nil
}
