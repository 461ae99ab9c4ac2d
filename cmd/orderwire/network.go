package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/sources/network"
)

// networkFlags are the flags of `orderwire network`.
type networkFlags struct {
	listen, db, baseURL   string
	appKeys, appSecrets   []string
	adsKeys, websites     []string
	prefix, zone          string
	window                time.Duration
	orders, moves         int64
	seed                  uint64
	speed, perHour, fault float64
	history               time.Duration
	bareList, omitDetails bool
	simulated             bool // whether there is anything to simulate
	refuseReplays         bool
	push                  pushFlags
}

func newNetwork(o *options) *cobra.Command {
	var f networkFlags
	c := &cobra.Command{
		Use:   "network",
		Short: "Run the affiliate network's own service, with a simulator of orders",
		Long: `Answers the network's API over HTTP, from a SQLite file or a PostgreSQL database.
The subcommands make publishers, websites, keys, brands and programs, in the same
--db, beside the running service or before it. For tests, and to try Orderwire out
without anybody's account, --app-key and --app-secret make a publisher at once.

With --orders it is filled once, and a simulator then moves the orders through
both state machines, the same way for the same --seed. --speed 1 is real time; at
20000 an order lives for a minute or two. Give --app-key and --app-secret several
times for several publishers.

Secrets, and --db with a password, may be written as ${NAME} or file:PATH, which
keeps them out of the process list.`,
		Example: `  orderwire network --app-key 2312521 --app-secret demo --orders 20000 --speed 5000
  orderwire network --app-key 2312521 --app-secret demo --orders 1000 --faults 0.2
  orderwire network publisher add blog --website 1026
  orderwire network key new --publisher blog
  orderwire network --db '${NETWORK_DB}'   # the address of a PostgreSQL database`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runNetwork(c.Context(), o, f) },
	}
	f.register(c)
	f.push.register(c)
	m := &manager{options: o, db: &f.db}
	c.AddCommand(append(m.commands(), newNetworkPush(o, &f.db))...)
	return c
}

func (f *networkFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8090", "address to listen on, host:port; port 0 for any")
	c.PersistentFlags().StringVar(&f.db, "db", "network.db", "SQLite file, or postgres://user:password@host/database")
	fl.StringVar(&f.baseURL, "base-url", "", "address under which clients reach the service (default: as they ask)")
	fl.StringArrayVar(&f.appKeys, "app-key", nil, "App Key of a publisher")
	fl.StringArrayVar(&f.appSecrets, "app-secret", nil, "App Secret of that publisher")
	fl.StringArrayVar(&f.adsKeys, "ads-key", nil, "ADS_KEY of an advertiser")
	fl.StringArrayVar(&f.websites, "website", nil, "WebsiteId of the first publisher (default 1026, 1027, 1028)")
	fl.StringVar(&f.prefix, "service-prefix", "svc", "first segment of the service names")
	fl.StringVar(&f.zone, "time-zone", "Asia/Shanghai", "zone of OrderTime and ChargeTime")
	fl.DurationVar(&f.window, "clock-window", network.DefaultTimestampWindow, "how far a Timestamp may be off; negative for any")
	fl.BoolVar(&f.refuseReplays, "refuse-replays", false, "refuse a signed request that was taken already, within the clock window")
	fl.Int64Var(&f.orders, "orders", 0, "fill the database with so many orders")
	fl.Int64Var(&f.moves, "moves", 0, "stop the simulator after so many changes (0: never)")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the simulator")
	fl.Float64Var(&f.speed, "speed", 1, "how many times faster than real time orders change; 0 for not at all")
	fl.Float64Var(&f.perHour, "new-orders", 0, "new orders in an hour of real time")
	fl.DurationVar(&f.history, "history", network.DefaultHistory, "how far back the orders are spread")
	fl.Float64Var(&f.fault, "faults", 0, "share of requests that are answered wrongly, 0 to 1, for tests of clients")
	fl.BoolVar(&f.bareList, "bare-list", false, "answer lists as a bare array, without a total")
	fl.BoolVar(&f.omitDetails, "omit-details", false, "leave the order lines out of lists")
}

func runNetwork(ctx context.Context, o *options, f networkFlags) (err error) {
	if len(f.appKeys) != len(f.appSecrets) || len(f.appKeys) == 0 && len(f.websites) > 0 {
		return usageError{errors.New("give --app-key and --app-secret, as many of one as of the other; --website is of the first")}
	}
	if f.db, err = databaseOf(f.db); err != nil {
		return err
	}
	if len(f.appKeys)+len(f.adsKeys) == 0 && !databaseExists(f.db) {
		return errNoKeys
	}
	log := o.logger()
	service, err := openNetwork(ctx, f, log)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	simulator, err := service.Simulator(network.SimulatorConfig{
		Seed: f.seed, History: f.history, Speed: f.speed, NewOrdersPerHour: f.perHour, MaxMoves: f.moves,
	})
	if err != nil {
		return usageError{err}
	}
	progress, err := simulator.Progress(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	// What the subcommands have set up gets the programs of the simulation only
	// when it is asked for.
	f.simulated = len(f.appKeys) > 0 || f.orders > 0 || f.perHour > 0 || progress.Orders > 0
	if f.simulated {
		if err := simulator.Seed(ctx, f.orders); err != nil {
			return interrupted(ctx, err)
		}
	}
	return interrupted(ctx, f.serve(ctx, service, simulator, log))
}

var errNoKeys = usageError{errors.New(
	"the database holds no key; give --app-key and --app-secret, or make one with orderwire network publisher add and key new")}

// openNetwork opens the service and makes the accounts of the flags known. Some
// key has to be known then.
func openNetwork(ctx context.Context, f networkFlags, log *slog.Logger) (*network.Service, error) {
	zone, err := time.LoadLocation(f.zone)
	if err != nil {
		return nil, usageError{fmt.Errorf("--time-zone: %w", err)}
	}
	service, err := network.Open(ctx, network.Config{
		DB: f.db, ServicePrefix: f.prefix, BaseURL: f.baseURL, TimeZone: zone, TimestampWindow: f.window,
		RefuseReplays: f.refuseReplays,
		BareList:      f.bareList, OmitDetails: f.omitDetails, Logger: log,
	})
	if err != nil {
		return nil, usage(err)
	}
	keys, err := f.addAccounts(ctx, service)
	if err == nil && keys == 0 {
		err = errNoKeys
	}
	if err != nil {
		return nil, errors.Join(err, service.Close())
	}
	return service, nil
}

// addAccounts returns how many keys there are.
func (f *networkFlags) addAccounts(ctx context.Context, service *network.Service) (int, error) {
	if len(f.websites) == 0 {
		f.websites = []string{"1026", "1027", "1028"}
	}
	for i, key := range f.appKeys {
		var secret config.Secret
		if err := secret.UnmarshalText([]byte(f.appSecrets[i])); err != nil {
			return 0, usageError{fmt.Errorf("--app-secret: %w", err)}
		}
		websites := f.websites
		if i > 0 {
			websites = []string{"w-" + key}
		}
		if err := service.AddPublisher(ctx, network.Publisher{AppKey: key, AppSecret: string(secret), Websites: websites}); err != nil {
			return 0, fmt.Errorf("publisher %d: %w", i+1, err)
		}
	}
	for i, key := range f.adsKeys {
		if err := service.AddAdvertiser(ctx, network.Advertiser{AdsKey: key}); err != nil {
			return 0, fmt.Errorf("advertiser %d: %w", i+1, err)
		}
	}
	keys, err := service.Keys(ctx, "")
	return len(keys), err
}

// serve answers requests and simulates until ctx ends.
func (f *networkFlags) serve(ctx context.Context, service *network.Service, simulator *network.Simulator, log *slog.Logger) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	handler := service.Handler()
	if f.fault > 0 {
		faults, err := network.NewFaults(handler, network.FaultsConfig{Rate: f.fault, Seed: f.seed})
		if err != nil {
			return usageError{errors.Join(err, listener.Close())}
		}
		defer context.AfterFunc(ctx, faults.Close)()
		handler = faults
	}
	progress, err := simulator.Progress(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	log.Info("network is answering", "url", "http://"+listener.Addr().String(), "orders", progress.Orders)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveHTTP(ctx, listener, handler) })
	group.Go(func() error { return f.push.run(ctx, service, f.appKeys, log) })
	if f.simulated && f.speed > 0 {
		group.Go(func() error { return f.simulate(ctx, simulator, log) })
	}
	return group.Wait()
}

// simulate runs the simulator and says when it has made its last change.
func (f *networkFlags) simulate(ctx context.Context, simulator *network.Simulator, log *slog.Logger) error {
	if err := simulator.Run(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	progress, err := simulator.Progress(ctx)
	if err != nil {
		return err
	}
	log.Info("simulator is done", "orders", progress.Orders, "moves", progress.Moves)
	return nil
}
