// Package demo runs the whole line on one machine against a network of its
// own, for somebody who sees Orderwire for the first time.
package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"text/template"

	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/sinks/webhook"
	"github.com/orderwire/orderwire/sources/network"
)

// The network of the demo.
const (
	appKey    = "2312521"
	appSecret = "demo-secret" // guards nothing but the demo's own network on loopback
	seed      = 2026
	speed     = 4000 // an order lives for some minutes
	perHour   = 1800 // new orders
)

// Config says what the demo does.
type Config struct {
	Dir    string    // where everything is kept; made when missing
	Orders int64     // orders that the network begins with
	Out    io.Writer // what happens, for a person
	Logger *slog.Logger
	// Program is how the reader called the program, for what to try next.
	Program string
	// Serve serves HTTP until the context ends.
	Serve func(ctx context.Context, l net.Listener, h http.Handler) error
	// Service returns the HTTP service of a line, and what closes it.
	Service func(c *config.Config, l *line.Line, log *slog.Logger) (http.Handler, func() error)
}

// Demo is a running demo.
type Demo struct {
	cfg      Config
	file     string // the configuration that was written
	service  *network.Service
	sim      *network.Simulator
	receiver *receiver
	line     *line.Line
	network  net.Listener
	hooks    net.Listener
	console  net.Listener
	pages    http.Handler
	closed   func() error // closes what pages have open; nil before that
}

// Run runs the demo until ctx ends, and prints a summary then.
func Run(ctx context.Context, cfg Config) (err error) {
	d := &Demo{cfg: cfg}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.open(ctx); err != nil {
		return err
	}
	d.greet()
	if err := d.run(ctx); err != nil {
		return err
	}
	return d.summary(context.WithoutCancel(ctx))
}

func (d *Demo) open(ctx context.Context) (err error) {
	if d.cfg.Dir, err = filepath.Abs(d.cfg.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(d.cfg.Dir, 0o700); err != nil {
		return fmt.Errorf("folder of the demo: %w", err)
	}
	if err := d.openNetwork(ctx); err != nil {
		return err
	}
	var listen net.ListenConfig
	for _, l := range []*net.Listener{&d.network, &d.hooks, &d.console} {
		if *l, err = listen.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return err
		}
	}
	c, err := d.configure()
	if err != nil {
		return err
	}
	if d.line, err = line.Open(ctx, c, line.AllRoles(), d.cfg.Logger); err != nil {
		return err
	}
	d.pages, d.closed = d.cfg.Service(c, d.line, d.cfg.Logger)
	return nil
}

func (d *Demo) openNetwork(ctx context.Context) (err error) {
	d.service, err = network.Open(ctx, network.Config{DB: filepath.Join(d.cfg.Dir, "network.db"), Logger: d.cfg.Logger})
	if err != nil {
		return err
	}
	websites := []string{"1026", "1027", "1028"}
	if err := d.service.AddPublisher(ctx, network.Publisher{AppKey: appKey, AppSecret: appSecret, Websites: websites}); err != nil {
		return err
	}
	d.sim, err = d.service.Simulator(network.SimulatorConfig{Seed: seed, Speed: speed, NewOrdersPerHour: perHour})
	if err != nil {
		return err
	}
	return d.sim.Seed(ctx, d.cfg.Orders)
}

var configTemplate = template.Must(template.New("").Parse(`# Written by "orderwire demo", anew at each start.
data_dir: {{printf "%q" .Data}}
accounts:
  - name: demo
    base_url: http://{{.Network}}
    app_key: "{{.AppKey}}"
    app_secret: {{.AppSecret}}
    poll: {every: 1s, overlap: 5s, backfill: 31d, requests_per_second: 100}
archive: {roll_every: 5s}
webhooks:
  - {name: demo-receiver, url: "http://{{.Hooks}}/", secret: "{{.Secret}}", allow_private: true, retry: [1s, 2s, 5s]}
http: {listen: "{{.Console}}"}
`))

// configure writes the demo's configuration file, for the commands that the
// reader tries next, and reads it as any other.
func (d *Demo) configure() (*config.Config, error) {
	secret := webhook.NewSecret()
	verifier, err := webhook.NewVerifier(secret)
	if err != nil {
		return nil, err
	}
	d.receiver = &receiver{verifier: verifier}
	var text bytes.Buffer
	err = configTemplate.Execute(&text, map[string]string{
		"Data": filepath.Join(d.cfg.Dir, "data"), "Network": d.network.Addr().String(), "Hooks": d.hooks.Addr().String(), "Console": d.console.Addr().String(),
		"AppKey": appKey, "AppSecret": appSecret, "Secret": secret,
	})
	if err != nil {
		return nil, err
	}
	d.file = filepath.Join(d.cfg.Dir, "orderwire.yaml")
	if err := os.WriteFile(d.file, text.Bytes(), 0o600); err != nil {
		return nil, fmt.Errorf("configuration of the demo: %w", err)
	}
	return config.Parse(d.file, text.Bytes())
}

func (d *Demo) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.cfg.Serve(ctx, d.network, d.service.Handler()) })
	group.Go(func() error { return d.cfg.Serve(ctx, d.hooks, d.receiver) })
	group.Go(func() error { return d.cfg.Serve(ctx, d.console, d.pages) })
	group.Go(func() error { return d.sim.Run(ctx) })
	group.Go(func() error { return d.line.Run(ctx) })
	group.Go(func() error { return d.show(ctx) })
	return group.Wait()
}

func (d *Demo) close() error {
	var errs []error
	if d.closed != nil {
		errs = append(errs, d.closed())
	}
	if d.line != nil {
		errs = append(errs, d.line.Close())
	}
	if d.service != nil {
		errs = append(errs, d.service.Close())
	}
	for _, l := range []net.Listener{d.network, d.hooks, d.console} {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
