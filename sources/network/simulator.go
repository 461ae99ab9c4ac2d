package network

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"
)

// The defaults of [SimulatorConfig].
const (
	DefaultHistory = 30 * day
	DefaultSpeed   = 1
)

// ErrTooFewOrders says that fewer orders than asked for have a change to come.
var ErrTooFewOrders = errors.New("fewer orders can still change")

// SeedError says that a database was filled with another seed. Its orders
// would go on along other ways than they began.
type SeedError struct{ Have, Want uint64 }

// Error gives both seeds.
func (e *SeedError) Error() string {
	return fmt.Sprintf("the orders of the database were made with seed %d, not %d; give that seed or another file", e.Have, e.Want)
}

// SimulatorConfig says how orders come and change. The zero value of every
// field means its default.
type SimulatorConfig struct {
	// Seed decides everything but the times: the orders, and for each of them
	// the sequence of its states.
	Seed uint64
	// History is how far back [Simulator.Seed] spreads the orders; 30 days when 0.
	History time.Duration
	// Speed divides the durations of real life, hours to weeks, between the
	// changes of an order; 1 (real time) when 0. At 20000 an order lives for a
	// minute or two. What is written as update time and ChargeTime is always
	// the service's clock.
	Speed float64
	// NewOrdersPerHour is how many new orders [Simulator.Run] adds in an hour of
	// real time, whatever the speed; none when 0.
	NewOrdersPerHour float64
	// MaxMoves bounds the changes of the database's orders, those of
	// [Simulator.Step] and of earlier runs included: Run ends when there are as
	// many. 0 means no bound.
	MaxMoves int64
}

func (c SimulatorConfig) check() error {
	positive := func(f float64) bool { return f >= 0 && !math.IsInf(f, 0) } // which NaN is not
	var errs []error
	if !positive(c.Speed) {
		errs = append(errs, &ConfigError{"Speed", "give a positive number, 1 is real time"})
	}
	if !positive(c.NewOrdersPerHour) {
		errs = append(errs, &ConfigError{"NewOrdersPerHour", "give a positive number, or 0 for none"})
	}
	if c.History < 0 {
		errs = append(errs, &ConfigError{"History", "negative, give 0 for 30 days"})
	}
	if c.MaxMoves < 0 {
		errs = append(errs, &ConfigError{"MaxMoves", "negative, give 0 for no bound"})
	}
	return errors.Join(errs...)
}

// Simulator fills a service's database with orders and moves them through both
// state machines (specification 3.1 and 3.2). It has a clock of its own, on
// which the changes of all orders stand in a row; Run follows it at some speed,
// and Step takes changes off its front. A database has one simulator at a time.
type Simulator struct {
	store  *store
	config SimulatorConfig
}

// Simulator returns a simulator of the service's database. It does nothing by
// itself. The error is a [*ConfigError].
func (s *Service) Simulator(config SimulatorConfig) (*Simulator, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	config.History = cmp.Or(config.History, DefaultHistory)
	config.Speed = cmp.Or(config.Speed, DefaultSpeed)
	return &Simulator{store: s.store, config: config}, nil
}

// Progress is how far a simulation has come since its database was made.
type Progress struct {
	Orders int64 // orders made, by Seed and by Run
	Moves  int64 // changes made, by Step and by Run
}

// Progress reads how far the simulation has come.
func (s *Simulator) Progress(ctx context.Context) (Progress, error) {
	var p Progress
	err := s.store.row(ctx, `SELECT orders, moves FROM simulation WHERE id = 1`, nil, &p.Orders, &p.Moves)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Progress{}, fmt.Errorf("progress of the simulation: %w", err)
	}
	return p, nil
}

// seedBatch is how many orders Seed writes in a transaction.
const seedBatch = 4000

// Seed makes orders until the simulation has made n of them, so it may be
// called again for the same database. They are placed over the time of the
// history and are in the state that an order of that age has, with update
// times in the past. The error wraps [ErrNoWebsite], or is a [*SeedError].
func (s *Simulator) Seed(ctx context.Context, n int64) error {
	for done := false; !done; {
		err := s.store.change(ctx, func(c *change) error {
			m, err := s.begin(ctx, c)
			if err != nil {
				return err
			}
			if done = m.orders+seedBatch >= n; m.orders >= n {
				return nil
			}
			return m.seed(ctx, min(n, m.orders+seedBatch))
		})
		if err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}
	return nil
}

// Step changes k distinct orders now, in one transaction: those whose next
// change is the closest, whether it is due or not. It makes exactly k changes
// or none. The error wraps [ErrTooFewOrders] when there are not as many orders
// with a change to come, or is a [*SeedError]. Nothing happens when k is not
// positive.
func (s *Simulator) Step(ctx context.Context, k int64) error {
	if k <= 0 {
		return nil
	}
	err := s.store.change(ctx, func(c *change) error {
		m, err := s.begin(ctx, c)
		if err != nil {
			return err
		}
		moved, err := m.move(ctx, math.MaxInt64, k)
		if err == nil && moved < k {
			return fmt.Errorf("%w: %d asked for, %d there", ErrTooFewOrders, k, moved)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("step: %w", err)
	}
	return nil
}
