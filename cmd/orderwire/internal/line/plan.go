package line

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
	"github.com/orderwire/orderwire/sinks/webhook"
	"github.com/orderwire/orderwire/sources/poller"
)

func (l *Line) add(kind, name string, open func(ctx context.Context) (*session, error)) {
	l.parts = append(l.parts, &part{kind: kind, name: name, open: open})
}

// planAccounts makes the pollers and loads the index, so that both are ready
// when an account's lease comes.
func (l *Line) planAccounts(ctx context.Context, c *config.Config) error {
	if err := l.orders.LoadIndex(ctx); err != nil {
		return err
	}
	var err error
	if l.pushes, err = c.Receiver(l.log); err != nil {
		return err
	}
	for i := range c.Accounts {
		a := &c.Accounts[i]
		client, err := a.Client(l.log)
		if err != nil {
			return fmt.Errorf("account %s: %w", a.Name, err)
		}
		account, err := a.Poller()
		if err != nil {
			return fmt.Errorf("account %s: %w", a.Name, err)
		}
		p := poller.New(poller.Config{
			Account: account, Network: client, Log: l.orders, Publisher: l.orders.Publisher(), Logger: l.log, Tracer: l.tracer,
		})
		l.pollers[a.Name] = p
		l.add("account", a.Name, func(context.Context) (*session, error) {
			return &session{run: l.polling(a, p), poll: p.Poll}, nil
		})
	}
	return nil
}

func (l *Line) planArchive(_ context.Context, c *config.Config) error {
	settings, closeTable := c.Archive.Sink(l.log), func() error { return nil }
	table, err := newTable(&c.Archive, l.log) // here, so that a mistake ends the start
	if err != nil {
		return err
	}
	if table != nil {
		settings.Follower, closeTable = table, table.Close
	}
	l.add("sink", string(Archive), func(ctx context.Context) (*session, error) {
		a, err := archive.Open(ctx, settings)
		if err != nil {
			return nil, err
		}
		l.place(func() { l.archive = a })
		return fed(pipeline.NewRunner(pipeline.RunnerConfig{
			Name: string(Archive), Sink: l.traced(string(Archive), a), Follow: l.orders.Follow, Bury: l.orders.Bury,
			FlushEvery: time.Duration(c.Archive.RollEvery), Retention: l.archiveRetention(c), Logger: l.log,
		}), func() error { return errors.Join(a.Close(), closeTable()) }), nil
	})
	return nil
}

func (l *Line) planCommission(_ context.Context, c *config.Config) error {
	l.add("sink", string(Commission), func(ctx context.Context) (*session, error) {
		b, err := commission.Open(ctx, string(c.Commission.DSN), commission.InZone(c.Commission.Zone()))
		if err != nil {
			return nil, err
		}
		l.place(func() { l.books = b })
		return fed(pipeline.NewRunner(pipeline.RunnerConfig{
			Name: string(Commission), Sink: l.traced(string(Commission), b), Follow: l.orders.Follow, Bury: l.orders.Bury,
			MaxBatch:  commission.GoodBatch,
			Retention: l.commissionRetention(c), Logger: l.log,
		}), func() error {
			l.place(func() { l.books = nil })
			return b.Close()
		}), nil
	})
	return nil
}

func (l *Line) planWebhooks(ctx context.Context, c *config.Config) error {
	l.tail = pipeline.NewTail(pipeline.TailConfig{Follow: l.orders.Follow, Last: l.orders.Last, Logger: l.log})
	l.aged = &aged{dir: c.Archive.Sink(nil).Dir, first: l.orders.First}
	l.attempts = l.orders.Attempts(jetstream.AttemptsConfig{Logger: l.log}) //nolint:contextcheck // it ends when it is closed
	l.attemptsEnd = func() { l.attempts.Close(context.WithoutCancel(ctx)) }
	for i := range c.Webhooks {
		w := c.Webhooks[i]
		endpoint, err := webhook.New(w.Endpoint(l.log)) // here, so that a mistake ends the start
		if err != nil {
			return err
		}
		l.endpoints[w.Name] = endpoint
		l.add("endpoint", w.Name, l.delivering(&w, endpoint))
	}
	return nil
}

// delivering returns what opens a session of an endpoint. While it runs, it takes
// calls of people too.
func (l *Line) delivering(w *config.Webhook, endpoint *webhook.Endpoint) func(context.Context) (*session, error) {
	return func(context.Context) (*session, error) {
		courier := pipeline.NewCourier(pipeline.CourierConfig{
			Name: w.Name, Deliverer: answering{endpoint, l.tracer}, Tail: l.tail, Bury: l.orders.Bury, Cursors: l.orders, Watch: l.orders.WatchCursor,
			Parked: l.orders, Recall: l.orders.Next, Archive: l.aged.next, Older: l.aged.events,
			HoldExhausted: w.OnExhausted == config.ExhaustedPark, Unordered: w.Unordered,
			Concurrency: w.Concurrency, RateLimit: w.RateLimit, Schedule: w.Schedule(),
			Wants: endpoint.Wants, Attempted: l.attempted,
			Retention: l.webhookRetention(l.config, w.Name), Logger: l.log,
		})
		s := fed(courier, nil)
		s.run = func(ctx context.Context) error {
			stop, err := endpoints.Serve(context.WithoutCancel(ctx), l.orders, w.Name, courier) // until all is saved
			if err != nil {
				l.log.Warn("nobody can ask this process about the endpoint", "endpoint", w.Name, "error", err)
				stop = func() {}
			}
			defer stop()
			return courier.Run(ctx)
		}
		return s, nil
	}
}

func fed(f follower, closed func() error) *session {
	return &session{run: f.Run, feed: f, close: closed}
}

func (l *Line) place(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}
